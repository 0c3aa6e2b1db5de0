import { CodeBlock } from '../../ui/copy.tsx';
import { OneTimeSecret } from '../../ui/secret.tsx';
import { verifySnippet } from './webhook-text.ts';

/** The secret of a webhook, this once, and what to do with it. */
export function SigningSecret({ secret, onClose }: Readonly<{ secret: string | null; onClose: () => void }>) {
  return (
    <OneTimeSecret
      title="The signing secret"
      what="signing secret"
      secret={secret}
      lost="The webhook has a secret, but its answer was lost on the way, and a secret is told only once. Rotate it to get one that you can see."
      onClose={onClose}
    >
      <CodeBlock
        code={verifySnippet}
        what="program that verifies a delivery"
        label="Verify before you believe"
      />
    </OneTimeSecret>
  );
}
