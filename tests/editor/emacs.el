;;; emacs.el --- one session in Eglot: read diagnostics, apply a quick fix, optimize, save  -*- lexical-binding: t -*-

;; The scenario is JSON in EDITOR_SCENARIO; what was seen is written as JSON to its "report".

(require 'package)
(package-initialize)
(require 'json)
(require 'eglot)
(require 'flymake)

(defvar scenario (json-parse-string (getenv "EDITOR_SCENARIO")
                                     :object-type 'alist :false-object :json-false))
(defvar seen nil)
(defvar messages nil)
(defvar finished nil)

(setq project-find-functions (list (lambda (_) (cons 'transient (of 'folder)))))

(defun of (&rest names)
  (let ((value scenario))
    (dolist (name names value) (setq value (alist-get name value)))))

(defun keep (name value) (push (cons name value) seen))

(defun await (what seconds holds)
  (let ((end (+ (float-time) seconds)))
    (while (not (funcall holds))
      (when (> (float-time) end) (error "waited in vain for %s" what))
      (accept-process-output nil 0.05))))

;; The keys that a person would press in the menus.
(setq eglot-autoshutdown nil
      eglot-sync-connect 60
      eglot-connect-timeout 300
      make-backup-files nil
      create-lockfiles nil)
(defun completing-read (prompt collection &rest _)
  (push (substring-no-properties prompt) messages)
  (let ((first (car collection))) (if (consp first) (car first) first)))

(defun y-or-n-p (prompt)
  (push (substring-no-properties prompt) messages)
  t)

(cl-defmethod eglot-handle-notification
  (_server (_method (eql tilewright/jobFinished)) &rest params &key &allow-other-keys)
  (setq finished params))

(defun codes ()
  (delq nil (mapcar (lambda (one)
                      (plist-get (cdr (assoc 'eglot-lsp-diag (flymake-diagnostic-data one))) :code))
                    (flymake-diagnostics))))

(defun act (title)
  (let* ((actions (eglot-code-actions (point) (point)))
         (chosen (cl-find-if (lambda (one) (string-search title (plist-get one :title))) actions)))
    (keep 'offered (vconcat (mapcar (lambda (one) (plist-get one :title)) actions)))
    (unless chosen (error "no action %s" title))
    ;; By the keyboard: without an event Emacs takes it that a mouse opened the menu.
    (let ((last-nonmenu-event ?\r))
      (eglot--read-execute-code-action (list chosen) (eglot-current-server)))))

(defun session ()
  (find-file (of 'file))
  (python-mode)
  (setq eglot-server-programs
        (list (cons 'python-mode
                    (append (of 'command) (list :initializationOptions (of 'settings))))))
  (apply #'eglot (eglot--guess-contact))
  (unless (bound-and-true-p flymake-mode) (flymake-mode 1))
  (await "diagnostics" 300 #'codes)
  (keep 'diagnostics
        (vconcat (mapcar (lambda (one)
                           (list (cons 'code (plist-get (cdr (assoc 'eglot-lsp-diag (flymake-diagnostic-data one))) :code))
                                 (cons 'line (1- (line-number-at-pos (flymake-diagnostic-beg one))))
                                 (cons 'message (flymake-diagnostic-text one))))
                         (flymake-diagnostics))))
  (goto-char (point-min))
  (search-forward (of 'fix 'place))
  (goto-char (match-beginning 0))
  (let ((before (buffer-chars-modified-tick)))
    (act (of 'fix 'title))
    (await "the quick fix" 300 (lambda () (/= before (buffer-chars-modified-tick)))))
  (keep 'fixed (buffer-substring-no-properties (point-min) (point-max)))
  (save-buffer)
  (await "diagnostics of the fixed text" 300 (lambda () (not (member (of 'fix 'issue) (codes)))))
  (goto-char (point-min))
  (re-search-forward "^def ")
  (act (of 'optimize 'title))
  (await "the end of the optimization" (of 'optimize 'limit_s) (lambda () finished))
  (save-buffer)
  (keep 'final (buffer-substring-no-properties (point-min) (point-max)))
  (keep 'finished finished))

(condition-case problem
    (session)
  (error (keep 'problem (error-message-string problem))))
(keep 'messages (vconcat messages))
(let ((coding-system-for-write 'utf-8))
  (write-region (json-serialize seen :false-object :json-false :null-object :null) nil (of 'report)))
(ignore-errors (eglot-shutdown (eglot-current-server)))
(kill-emacs 0)
