/** Runs one task at a time and remembers at most one more request: restarts that pile up become one. */
export class Serial {
  private running: Promise<void> | undefined;
  private next: Promise<void> | undefined;

  constructor(private readonly task: () => Promise<void>) {}

  /** Resolves when a run of the task that began after this call has ended. */
  request(): Promise<void> {
    if (!this.running) {
      this.running = this.task().finally(() => (this.running = undefined));
      return this.running;
    }
    this.next ??= this.running
      .catch(() => undefined)
      .then(() => {
        this.next = undefined;
        return this.request();
      });
    return this.next;
  }
}
