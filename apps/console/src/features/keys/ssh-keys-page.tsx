import type { Item } from '@millrace/sdk';
import { TerminalSquare } from 'lucide-react';
import { useState } from 'react';
import { fieldIssue } from '../../api/problem.ts';
import { useApiMutation } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock, CommandHint, CopyButton, Id } from '../../ui/copy.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { TextArea, TextField } from '../../ui/field.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Problem } from '../../ui/states.tsx';
import type { Column } from '../../ui/table.tsx';
import { Timestamp } from '../../ui/time.tsx';
import { useToast } from '../../ui/toast.tsx';
import { suggestedName, inspectPastedKey } from './ssh-key.ts';
import { Form } from '../../ui/form.tsx';

type SshKey = Item<'listSshPublicKeys'>;

export function SshKeysPage() {
  const { mayNot, place } = useSession();
  const [going, setGoing] = useState<SshKey | null>(null);
  const keys = usePages(['ssh-keys'], (client, signal) => client.sshKeys.list({}, { signal }));
  const columns: readonly Column<SshKey>[] = [
    {
      head: 'Name',
      main: true,
      cell: ({ name, publicKey }) => (
        <span className="inline-flex items-center gap-1">
          {name} <CopyButton text={publicKey} what={`public key ${name}`} />
        </span>
      ),
    },
    { head: 'Type', cell: ({ algorithm }) => <Badge>{algorithm}</Badge> },
    {
      head: 'Fingerprint',
      cell: ({ fingerprint, name }) => <Id value={fingerprint} what={`fingerprint of ${name}`} />,
    },
    { head: 'Added', cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
    {
      head: 'Actions',
      cell: (key) => (
        <Button
          size="small"
          kind="danger"
          off={mayNot('ssh-keys:write')}
          aria-label={`Delete ${key.name}`}
          onClick={() => setGoing(key)}
        >
          Delete
        </Button>
      ),
    },
  ];
  return (
    <>
      <PageHeader
        title="SSH keys"
        about={`Your public keys in ${place.mode} mode, which log in to machines you rent from now on. Live and test mode have separate keys.`}
      />
      <AddKey />
      <Card title="Your keys" flush>
        <PagedTable
          pages={keys}
          what="SSH keys"
          caption="Your SSH public keys"
          columns={columns}
          icon={TerminalSquare}
          empty={`No SSH keys in ${place.mode} mode yet`}
          hint="Paste your public key above. You need one to log in to machines that you rent."
        />
      </Card>
      <CommandHint command="millrace ssh-key add ~/.ssh/id_ed25519.pub" />
      {going !== null && <DeleteKey sshKey={going} onClose={() => setGoing(null)} />}
    </>
  );
}

function AddKey() {
  const { mayNot } = useSession();
  const toast = useToast();
  const [text, setText] = useState('');
  const [name, setName] = useState<string | null>(null);
  const pasted = inspectPastedKey(text);
  const add = useApiMutation(
    (client, key: { readonly name: string; readonly publicKey: string }) => client.sshKeys.create(key),
    {
      changes: ['ssh-keys'],
      onSuccess: (key) => {
        setText('');
        setName(null);
        toast('Added', `${key.name}, ${key.fingerprint}`);
      },
    },
  );
  const shownName = name ?? (pasted.kind === 'public' ? suggestedName(pasted) : '');
  const off =
    mayNot('ssh-keys:write') ||
    (pasted.kind === 'empty' && 'Paste a public key.') ||
    (pasted.problem ?? false);
  const submit = (): void => {
    // Never send a private key.
    if (pasted.kind === 'public') add.mutate({ name: shownName.trim(), publicKey: text.trim() });
  };
  return (
    <Card title="Add SSH key">
      <Form onSend={submit} className="flex flex-col gap-3">
        <TextArea
          label="Public key"
          hint="OpenSSH (one line that starts with ssh-ed25519, ssh-rsa or ecdsa-), PEM or PuTTY format."
          rows={3}
          spellCheck={false}
          autoComplete="off"
          className="font-mono"
          placeholder="ssh-ed25519 AAAA… you@laptop"
          value={text}
          error={pasted.problem ?? fieldIssue(add.error, 'publicKey')}
          onValue={(value) => {
            setText(value);
            add.reset();
          }}
        />
        <TextField
          label="Name"
          hint="Defaults to the comment of the key."
          value={shownName}
          maxLength={100}
          required
          error={fieldIssue(add.error, 'name')}
          onValue={setName}
        />
        {add.error !== null && <Problem error={add.error} doing="add the key" />}
        <div>
          <Button kind="primary" type="submit" off={off} busy={add.isPending && 'Adding…'}>
            Add key
          </Button>
        </div>
      </Form>
      <details className="mt-4">
        <summary className="text-soft">Create a key</summary>
        <div className="mt-2 flex flex-col gap-2">
          <CodeBlock
            code="ssh-keygen -t ed25519"
            what="command to create a key"
            label="1. Create a key pair in your terminal"
          />
          <CodeBlock
            code="cat ~/.ssh/id_ed25519.pub"
            what="command to show the public key"
            label="2. Show the public key and paste it above"
          />
        </div>
      </details>
    </Card>
  );
}

function DeleteKey({ sshKey, onClose }: Readonly<{ sshKey: SshKey; onClose: () => void }>) {
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={`Delete ${sshKey.name}?`}
      action="Delete"
      doing="Deleting…"
      run={(client) => client.sshKeys.delete({ sshKeyId: sshKey.id })}
      changes={['ssh-keys']}
      onDone={(toast) => toast('Deleted', sshKey.name)}
    >
      <p>New machines will not accept this key. Running machines keep it until they are terminated.</p>
      <p className="text-soft break-all">{sshKey.fingerprint}</p>
    </ConfirmDialog>
  );
}
