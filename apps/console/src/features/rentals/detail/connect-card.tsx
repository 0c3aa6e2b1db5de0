import { CodeBlock, CopyButton } from '../../../ui/copy.tsx';
import { Card } from '../../../ui/page.tsx';
import { Note } from '../../../ui/states.tsx';
import {
  sshConnections,
  portLines,
  sshCommands,
  sshUnavailableReason,
  type SshConnection,
} from './connect.ts';
import type { Rental } from '../rental.ts';
import { TextLink } from '../../../ui/link.tsx';

/** How to get in, and how to know that it is the right machine; or why there is no way in. */
export function ConnectCard({ rental }: Readonly<{ rental: Rental }>) {
  const why = sshUnavailableReason(rental);
  const ports = portLines(rental);
  return (
    <Card title="Connect" about="With the SSH keys that were chosen when it was made.">
      {why !== null ? (
        <>
          <p>{why}</p>
          {rental.status === 'Pending' && (
            <p className="text-soft mt-1">
              Your keys are under <TextLink to="/ssh-keys">SSH keys</TextLink>.
            </p>
          )}
        </>
      ) : (
        <div className="flex flex-col gap-4">
          {sshConnections(rental).map((connection) => (
            <SshConnectionDetails key={connection.command} connection={connection} />
          ))}
          <CodeBlock
            code={sshCommands(rental)}
            what="millrace ssh command"
            label="Or let the command line compare the host key by itself"
          />
          {ports.length > 0 && (
            <div>
              <h3>Open ports</h3>
              <ul className="list-disc pl-5">
                {ports.map((line) => (
                  <li key={line}>{line}</li>
                ))}
              </ul>
            </div>
          )}
        </div>
      )}
    </Card>
  );
}

function SshConnectionDetails({ connection }: Readonly<{ connection: SshConnection }>) {
  const { title, command, fingerprint, check } = connection;
  return (
    <div className="flex flex-col gap-2">
      {title !== null && <h3>{title}</h3>}
      <CodeBlock code={command} what="SSH command" />
      {fingerprint === null ? (
        <Note>
          No host key was seen on this machine, so there is nothing to compare. Your SSH asks you to trust it
          the first time.
        </Note>
      ) : (
        <>
          <p className="flex flex-wrap items-center gap-1">
            Its host key is <code className="break-all">{fingerprint}</code>
            <CopyButton text={fingerprint} what="fingerprint of the host key" />
          </p>
          <details>
            <summary className="text-soft">How to check it</summary>
            <p className="my-2">
              We logged in before you did and saw this key. When your SSH asks the first time, the fingerprint
              that it shows must be this one. This prints what the machine answers with now:
            </p>
            <CodeBlock code={check} what="command that prints the fingerprint" />
          </details>
        </>
      )}
    </div>
  );
}
