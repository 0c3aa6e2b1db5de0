import type { Output, Item } from '@millrace/sdk';
import { parseDuration } from '@millrace/sdk/text';
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
    head: 'For',
    main: true,
    cell: ({ clusterName, region, description }) => (
      <>
        {clusterName}, {region}
        {description !== '' && <span className="text-soft block text-xs font-normal">{description}</span>}
      </>
    ),
  },
  {
    head: 'State',
    cell: (token) => {
      const { words, tone } = tokenStatus(token);
      return <Badge tone={tone}>{words}</Badge>;
    },
  },
  {
    head: 'Machines',
    cell: ({ usedMachines, maxMachines }) => `${String(usedMachines)} of ${String(maxMachines)} joined`,
  },
  { head: 'Good until', cell: ({ expiresAt }) => <Timestamp at={expiresAt} /> },
  { head: 'Act', cell: (token) => <Revoke token={token} /> },
];

/** Tokens with which machines join. The token itself is shown once, in the command that uses it. */
export function JoinTokens() {
  const pages = usePages(
    ['supplier', 'join-tokens'],
    (client, signal) => client.supplier.joinTokens.list({ limit: 20 }, { signal }),
    { refetchMs: 10_000 },
  );
  return (
    <Card
      title="Join tokens"
      about="Each lets hosts join and can do nothing else."
      flush
      actions={<NewTokenButton />}
    >
      <PagedTable
        pages={pages}
        what="join tokens"
        caption="Join tokens"
        columns={columns}
        empty="You have no join tokens"
        hint="Make one, and you get the command to run on a host with Incus 6.0 or later."
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
        off={mayNot('supplier:write') || (words !== 'usable' && `It is ${words}.`)}
        onClick={() => setOpen(true)}
      >
        Revoke
      </Button>
      <ConfirmDialog
        title={`Revoke the join token for ${token.clusterName}?`}
        open={isOpen}
        onClose={() => setOpen(false)}
        action="Revoke"
        doing="Revoking…"
        run={(client) => client.supplier.joinTokens.revoke({ joinTokenId: token.id })}
        changes={['supplier']}
      >
        <p>No further host joins with it. Machines that joined stay.</p>
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
        Let a host join
      </Button>
      <Dialog title="Let a host join" open={isOpen} onClose={() => setOpen(false)}>
        {isOpen && <NewTokenForm onClose={() => setOpen(false)} />}
      </Dialog>
    </>
  );
}

const tokenLifetimes = ['1h', '1d', '7d'] as const;
const lifetimeLabels: Readonly<Record<string, string>> = {
  '1h': 'one hour',
  '1d': 'one day',
  '7d': 'seven days',
};

function NewTokenForm({ onClose }: Readonly<{ onClose: () => void }>) {
  const { me } = useSession();
  const [clusterName, setCluster] = useState(() => suggestedClusterName(me.organisation.name));
  const [region, setRegion] = useState('');
  const [count, setCount] = useState('1');
  const [ttl, setTtl] = useState<string>('1h');
  // The answer holds the secret: it lives in this dialog alone and goes with it.
  const create = useApiMutation(
    (client, request: Parameters<typeof client.supplier.joinTokens.create>[0]) =>
      client.supplier.joinTokens.create(request),
    { changes: ['supplier'] },
  );
  if (create.data !== undefined) return <CreatedToken token={create.data} onClose={onClose} />;
  const issue =
    clusterNameIssue(clusterName) ||
    (region.trim() === '' && 'Say in which region the host is.') ||
    (!/^[1-9]\d{0,2}$|^1000$/.test(count) && 'One token is for 1 to 1000 hosts.');
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
        hint="What the marketplace shows as the cluster of your hosts."
        value={clusterName}
        error={fieldIssue(create.error, 'clusterName')}
        onValue={setCluster}
      />
      <TextField
        label="Region"
        hint="Where the host is. If it is none that the operator opened, you are told which are."
        placeholder="eu-north-2"
        value={region}
        error={fieldIssue(create.error, 'region')}
        onValue={setRegion}
      />
      <div className="grid grid-cols-2 gap-3">
        <TextField
          label="For how many hosts"
          inputMode="numeric"
          value={count}
          error={fieldIssue(create.error, 'maxMachines')}
          onValue={setCount}
        />
        <SelectField
          label="Good for"
          value={ttl}
          choices={tokenLifetimes.map((value) => ({ value, label: lifetimeLabels[value] ?? value }))}
          onValue={setTtl}
        />
      </div>
      {create.error !== null && <Problem error={create.error} />}
      <FormButtons onClose={onClose} busy={create.isPending && 'Making…'} off={issue}>
        Make the token
      </FormButtons>
    </Form>
  );
}

function CreatedToken({ token, onClose }: Readonly<{ token: NewToken; onClose: () => void }>) {
  const installation = useInstallation();
  const [address, setAddress] = useState('');
  if (token.token === null) {
    return <Note tone="warn">The token was shown before and is not shown again. Make another one.</Note>;
  }
  const url = installation.data?.publicUrl ?? globalThis.location.origin;
  return (
    <div className="flex flex-col gap-3">
      <Note tone="warn">
        The token is in this command and is shown this once. It is good until{' '}
        <Timestamp at={token.expiresAt} />.
      </Note>
      <TextField
        label="Address of the host"
        hint="Where the internet reaches it: an address or a name. It goes into the command."
        placeholder="203.0.113.7"
        value={address}
        onValue={setAddress}
      />
      <CodeBlock
        code={joinCommand({ token: token.token, url, address })}
        what="command to run on the host"
        label="Run this as root on the host"
      />
      <p className="text-soft text-xs">
        <code>join.sh</code> is in the folder <code>deploy/supplier</code> of Millrace. Read it first; it is
        written to be read. The host needs Incus 6.0 or later, its GPUs, and ports 8443 and 20000 to 29999
        open.
      </p>
      <CommandHint
        command={`millrace supplier join-token create --cluster-name ${token.clusterName} --region ${token.region}`}
      />
      <div className="flex justify-end">
        <Button kind="primary" onClick={onClose}>
          I have run it
        </Button>
      </div>
    </div>
  );
}
