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

/** SSH command and host key, or why there is none. */
export function ConnectCard({ rental }: Readonly<{ rental: Rental }>) {
  const why = sshUnavailableReason(rental);
  const ports = portLines(rental);
  return (
    <Card title="Connect" about="Use an SSH key that you chose when you created the rental.">
      {why !== null ? (
        <>
          <p>{why}</p>
          {rental.status === 'Pending' && (
            <p className="text-soft mt-1">
              Manage your keys under <TextLink to="/ssh-keys">SSH keys</TextLink>.
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
            label="Or use the CLI, which checks the host key"
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
          The host key of this machine is unknown. Your SSH client asks you to trust it on first use.
        </Note>
      ) : (
        <>
          <p className="flex flex-wrap items-center gap-1">
            Host key: <code className="break-all">{fingerprint}</code>
            <CopyButton text={fingerprint} what="host key fingerprint" />
          </p>
          <details>
            <summary className="text-soft">Verify the host key</summary>
            <p className="my-2">
              We recorded this key when we checked the machine. On first login, your SSH client must show the
              same fingerprint. This command prints the current one:
            </p>
            <CodeBlock code={check} what="command to print the fingerprint" />
          </details>
        </>
      )}
    </div>
  );
}
