import { expect, it } from "vitest";
import { Serial } from "../src/serial";

it("runs one at a time and folds what piles up into one more run", async () => {
  let running = 0;
  let runs = 0;
  const serial = new Serial(async () => {
    running += 1;
    runs += 1;
    expect(running).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 10));
    running -= 1;
  });
  await Promise.all([serial.request(), serial.request(), serial.request(), serial.request()]);
  expect(runs).toBe(2);
  await serial.request();
  expect(runs).toBe(3);
});

it("runs again after a run that failed", async () => {
  let runs = 0;
  const serial = new Serial(() => (++runs === 1 ? Promise.reject(new Error("no")) : Promise.resolve()));
  const first = serial.request();
  const second = serial.request();
  await expect(first).rejects.toThrow("no");
  await second;
  expect(runs).toBe(2);
});
