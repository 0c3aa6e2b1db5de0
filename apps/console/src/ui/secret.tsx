import { useEffect, useState, type ReactNode } from 'react';
import { Button } from './button.tsx';
import { CodeBlock } from './copy.tsx';
import { Dialog } from './dialog.tsx';
import { Note } from './states.tsx';

interface OneTimeSecretProps {
  readonly title: string;
  /** Noun for texts, such as `API key`. */
  readonly what: string;
  readonly secret: string | null;
  /** Advice if the secret was lost. */
  readonly lost: string;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}

/**
 * Shows a secret once, from memory only, and asks for confirmation before closing. Null: the response was lost and
 * the retry returned no secret.
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
              <strong>Copy it now.</strong> You cannot see it again.
            </Note>
            <CodeBlock code={secret} what={what} label={`Your ${what}`} />
            {children}
          </>
        ) : (
          <Note tone="bad">{lost}</Note>
        )}
        {isConfirming ? (
          <div role="alert" className="flex flex-col gap-2">
            <Note tone="bad">Did you save the {what}? You cannot see it again.</Note>
            <div className="flex justify-end gap-2">
              <Button onClick={() => setConfirming(false)}>Show again</Button>
              <Button kind="primary" onClick={onClose}>
                I saved it, close
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
