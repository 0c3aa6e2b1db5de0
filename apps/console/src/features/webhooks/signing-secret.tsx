import { CodeBlock } from '../../ui/copy.tsx';
import { OneTimeSecret } from '../../ui/secret.tsx';
import { verifySnippet } from './webhook-text.ts';

export function SigningSecret({ secret, onClose }: Readonly<{ secret: string | null; onClose: () => void }>) {
  return (
    <OneTimeSecret
      title="Signing secret"
      what="signing secret"
      secret={secret}
      lost="The webhook was created, but the response was lost. A secret is shown only once: rotate it to get one that you can see."
      onClose={onClose}
    >
      <CodeBlock code={verifySnippet} what="verification code" label="Verify deliveries" />
    </OneTimeSecret>
  );
}
