import type { Output, Item } from '@millrace/sdk';
import { parseDuration } from '@millrace/sdk/text';
import { KeyRound } from 'lucide-react';
import { useState } from 'react';
import { nowMs } from '../../api/clock.ts';
import { fieldIssue } from '../../api/problem.ts';
import { useApiMutation } from '../../api/queries.ts';
import { useInstallation, useSession } from '../../api/session.tsx';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock, CommandHint } from '../../ui/copy.tsx';
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { Card } from '../../ui/page.tsx';
import { Note, Problem } from '../../ui/states.tsx';
import type { Column } from '../../ui/table.tsx';
import { Timestamp } from '../../ui/time.tsx';
import { clusterNameIssue, joinCommand, suggestedClusterName } from './join-command.ts';
import { Form, FormButtons } from '../../ui/form.tsx';

type Token = Item<'supplierListJoinTokens'>;
type NewToken = Output<'supplierCreateJoinToken'>;

function tokenStatus(token: Token): { readonly words: string; readonly tone: Tone } {
  if (token.revokedAt !== null) return { words: 'revoked', tone: 'bad' };
  if (token.usedMachines >= token.maxMachines) return { words: 'used up', tone: 'plain' };
  if (Date.parse(token.expiresAt) <= nowMs()) return { words: 'expired', tone: 'plain' };
  return { words: 'usable', tone: 'good' };
}

const columns: readonly Column<Token>[] = [
  {
    head: 'Cluster',
    main: true,
    cell: ({ clusterName, region, description }) => (
      <>
        {clusterName}, {region}
        {description !== '' && <span className="text-soft block text-xs font-normal">{description}</span>}
      </>
    ),
  },
  {
    head: 'Status',
    cell: (token) => {
      const { words, tone } = tokenStatus(token);
      return <Badge tone={tone}>{words}</Badge>;
    },
  },
  {
    head: 'Machines',
    cell: ({ usedMachines, maxMachines }) => `${String(usedMachines)} of ${String(maxMachines)} joined`,
  },
  { head: 'Expires', cell: ({ expiresAt }) => <Timestamp at={expiresAt} /> },
  { head: 'Actions', cell: (token) => <Revoke token={token} /> },
];

/** Join tokens. The token is shown once, in the join command. */
export function JoinTokens() {
  const pages = usePages(
    ['supplier', 'join-tokens'],
    (client, signal) => client.supplier.joinTokens.list({ limit: 20 }, { signal }),
    { refetchMs: 10_000 },
  );
  return (
    <Card
      title="Join tokens"
      about="A join token lets machines join your supplier account. It has no other access."
      flush
      actions={<NewTokenButton />}
    >
      <PagedTable
        pages={pages}
        what="join tokens"
        caption="Join tokens"
        columns={columns}
        icon={KeyRound}
        empty="No join tokens yet"
        hint="Create one to get the command for a machine with Incus 6.0 or later."
      />
    </Card>
  );
}

function Revoke({ token }: Readonly<{ token: Token }>) {
  const { mayNot } = useSession();
  const [isOpen, setOpen] = useState(false);
  const { words } = tokenStatus(token);
  return (
    <>
      <Button
        size="small"
        kind="danger"
        off={mayNot('supplier:write') || (words !== 'usable' && `The token is ${words}.`)}
        onClick={() => setOpen(true)}
      >
        Revoke
      </Button>
      <ConfirmDialog
        title={`Revoke join token for ${token.clusterName}?`}
        open={isOpen}
        onClose={() => setOpen(false)}
        action="Revoke"
        doing="Revoking…"
        run={(client) => client.supplier.joinTokens.revoke({ joinTokenId: token.id })}
        changes={['supplier']}
      >
        <p>No more machines can join with this token. Those that have joined stay.</p>
      </ConfirmDialog>
    </>
  );
}

function NewTokenButton() {
  const { mayNot } = useSession();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button kind="primary" size="small" off={mayNot('supplier:write')} onClick={() => setOpen(true)}>
        Add host
      </Button>
      <Dialog title="Add host" open={isOpen} onClose={() => setOpen(false)}>
        {isOpen && <NewTokenForm onClose={() => setOpen(false)} />}
      </Dialog>
    </>
  );
}

const tokenLifetimes = ['1h', '1d', '7d'] as const;
const lifetimeLabels: Readonly<Record<string, string>> = {
  '1h': '1 hour',
  '1d': '1 day',
  '7d': '7 days',
};

function NewTokenForm({ onClose }: Readonly<{ onClose: () => void }>) {
  const { me } = useSession();
  const [clusterName, setCluster] = useState(() => suggestedClusterName(me.organisation.name));
  const [region, setRegion] = useState('');
  const [count, setCount] = useState('1');
  const [ttl, setTtl] = useState<string>('1h');
  // The response contains the secret, which exists only in this dialog.
  const create = useApiMutation(
    (client, request: Parameters<typeof client.supplier.joinTokens.create>[0]) =>
      client.supplier.joinTokens.create(request),
    { changes: ['supplier'] },
  );
  if (create.data !== undefined) return <CreatedToken token={create.data} onClose={onClose} />;
  const issue =
    clusterNameIssue(clusterName) ||
    (region.trim() === '' && 'Enter the region of the machine.') ||
    (!/^[1-9]\d{0,2}$|^1000$/.test(count) && 'Enter 1 to 1000 machines.');
  return (
    <Form
      className="flex flex-col gap-3"
      onSend={() => {
        if (issue !== false) return;
        create.mutate({
          clusterName,
          region: region.trim(),
          maxMachines: Number(count),
          ttlSeconds: parseDuration(ttl) ?? 3_600,
        });
      }}
    >
      <TextField
        label="Cluster"
        hint="Cluster name of your machines on the marketplace."
        value={clusterName}
        error={fieldIssue(create.error, 'clusterName')}
        onValue={setCluster}
      />
      <TextField
        label="Region"
        hint="Location of the machine. If the region is not available, the error lists the available ones."
        placeholder="eu-north-2"
        value={region}
        error={fieldIssue(create.error, 'region')}
        onValue={setRegion}
      />
      <div className="grid grid-cols-2 gap-3">
        <TextField
          label="Number of machines"
          inputMode="numeric"
          value={count}
          error={fieldIssue(create.error, 'maxMachines')}
          onValue={setCount}
        />
        <SelectField
          label="Expires in"
          value={ttl}
          choices={tokenLifetimes.map((value) => ({ value, label: lifetimeLabels[value] ?? value }))}
          onValue={setTtl}
        />
      </div>
      {create.error !== null && <Problem error={create.error} />}
      <FormButtons onClose={onClose} busy={create.isPending && 'Creating…'} off={issue}>
        Create token
      </FormButtons>
    </Form>
  );
}

function CreatedToken({ token, onClose }: Readonly<{ token: NewToken; onClose: () => void }>) {
  const installation = useInstallation();
  const [address, setAddress] = useState('');
  if (token.token === null) {
    return <Note tone="warn">The token was already shown. Create another one.</Note>;
  }
  const url = installation.data?.publicUrl ?? globalThis.location.origin;
  return (
    <div className="flex flex-col gap-3">
      <Note tone="warn">
        The command contains the token, which is shown only once. It expires{' '}
        <Timestamp at={token.expiresAt} />.
      </Note>
      <TextField
        label="Address of the machine"
        hint="Public IP address or hostname, used in the command."
        placeholder="203.0.113.7"
        value={address}
        onValue={setAddress}
      />
      <CodeBlock
        code={joinCommand({ token: token.token, url, address })}
        what="join command"
        label="Run as root on the machine"
      />
      <p className="text-soft text-xs">
        <code>join.sh</code> is in the folder <code>deploy/supplier</code> of Millrace. Read it first. The
        machine needs Incus 6.0 or later, its GPUs, and open ports 8443 and 20000 to 29999.
      </p>
      <CommandHint
        command={`millrace supplier join-token create --cluster-name ${token.clusterName} --region ${token.region}`}
      />
      <div className="flex justify-end">
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </div>
  );
}
