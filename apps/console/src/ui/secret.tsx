import { useEffect, useState, type ReactNode } from 'react';
import { Button } from './button.tsx';
import { CodeBlock } from './copy.tsx';
import { Dialog } from './dialog.tsx';
import { Note } from './states.tsx';

interface OneTimeSecretProps {
  readonly title: string;
  /** What it is, such as `API key`. */
  readonly what: string;
  readonly secret: string | null;
  /** What to do when there is none to show. */
  readonly lost: string;
  readonly onClose: () => void;
  /** How to use it. */
  readonly children?: ReactNode;
}

/**
 * A secret, this once. It is in the memory of the page and nowhere else, and leaving it asks whether it was kept. Null: the
 * answer was lost on its way and came a second time, without the secret.
 */
export function OneTimeSecret({ title, what, secret, lost, onClose, children }: OneTimeSecretProps) {
  const [isConfirming, setConfirming] = useState(false);
  const isThere = secret !== null;
  useEffect(() => {
    if (!isThere) return undefined;
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
    globalThis.addEventListener('beforeunload', warn);
    return () => globalThis.removeEventListener('beforeunload', warn);
  }, [isThere]);
  return (
    <Dialog open title={title} onClose={() => (isThere && !isConfirming ? setConfirming(true) : onClose())}>
      <div className="flex flex-col gap-4">
        {isThere ? (
          <>
            <Note tone="warn">
              <strong>Copy it now.</strong> It is shown this once; nobody can show it again, nor can we.
            </Note>
            <CodeBlock code={secret} what={what} label={`Your ${what}`} />
            {children}
          </>
        ) : (
          <Note tone="bad">{lost}</Note>
        )}
        {isConfirming ? (
          <div role="alert" className="flex flex-col gap-2">
            <Note tone="bad">Have you kept the {what}? When this closes it is gone for good.</Note>
            <div className="flex justify-end gap-2">
              <Button onClick={() => setConfirming(false)}>Show it again</Button>
              <Button kind="primary" onClick={onClose}>
                I have kept it, close
              </Button>
            </div>
          </div>
        ) : (
          <div className="flex justify-end">
            <Button kind="primary" onClick={() => (isThere ? setConfirming(true) : onClose())}>
              Done
            </Button>
          </div>
        )}
      </div>
    </Dialog>
  );
}
