import type { Item } from '@millrace/sdk';
import { useState } from 'react';
import { fieldIssue } from '../../api/problem.ts';
import { useApiMutation, useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { CheckboxField, TextArea, TextField } from '../../ui/field.tsx';
import { Card } from '../../ui/page.tsx';
import { Note, Problem } from '../../ui/states.tsx';
import { FORM_ID } from './form-id.ts';
import { Form } from '../../ui/form.tsx';

export type SshKey = Item<'listSshPublicKeys'>;

export function useSshKeys() {
  return useApiQuery(['ssh-keys', 'all'], (client, signal) =>
    client.sshKeys.list({ limit: 200 }, { signal }).all(),
  );
}

interface KeysCardProps {
  readonly keys: readonly SshKey[];
  /** Null: all keys. */
  readonly chosen: readonly string[] | null;
  readonly onChoose: (ids: readonly string[] | null) => void;
}

/** SSH keys that can log in: all of the user's keys by default. */
export function KeysCard({ keys, chosen, onChoose }: KeysCardProps) {
  const { mode } = useSession().place;
  const [isAdding, setAdding] = useState(false);
  const ids = chosen ?? keys.map(({ id }) => id);
  const toggle = (id: string, on: boolean): void => {
    const next = on ? [...ids, id] : ids.filter((each) => each !== id);
    onChoose(next.length === keys.length ? null : next);
  };
  const isOpen = isAdding || keys.length === 0;
  return (
    <Card
      title="SSH keys"
      about="Keys that can log in. Password login is disabled."
      actions={
        !isOpen && (
          <Button size="small" onClick={() => setAdding(true)}>
            Add key
          </Button>
        )
      }
    >
      <div className="flex flex-col gap-3" id="ssh-keys">
        {keys.length === 0 && (
          <Note tone="warn">
            You have no SSH key in {mode} mode yet. Add one to log in to your machines. Live and test mode
            have separate keys.
          </Note>
        )}
        {keys.map(({ id, name, fingerprint }) => (
          <CheckboxField
            key={id}
            form={FORM_ID}
            label={name}
            hint={<code className="break-all">{fingerprint}</code>}
            checked={ids.includes(id)}
            onValue={(on) => toggle(id, on)}
          />
        ))}
        {isOpen && (
          <AddKey
            onAdded={(id) => {
              setAdding(false);
              if (chosen !== null) onChoose([...chosen, id]);
            }}
          />
        )}
      </div>
    </Card>
  );
}

function AddKey({ onAdded }: Readonly<{ onAdded: (id: string) => void }>) {
  const { mayNot } = useSession();
  const [name, setName] = useState('My computer');
  const [publicKey, setPublicKey] = useState('');
  const add = useApiMutation(
    (client, key: { readonly name: string; readonly publicKey: string }) => client.sshKeys.create(key),
    { changes: ['ssh-keys'], onSuccess: ({ id }) => onAdded(id) },
  );
  const isReady = name.trim() !== '' && publicKey.trim() !== '';
  const nameError = fieldIssue(add.error, 'name');
  const keyError = fieldIssue(add.error, 'publicKey');
  return (
    <Form
      className="border-line flex flex-col gap-3 rounded-md border p-3"
      aria-label="Add SSH key"
      onSend={() => {
        if (isReady && !add.isPending) add.mutate({ name: name.trim(), publicKey });
      }}
    >
      <TextField label="Key name" value={name} maxLength={100} onValue={setName} error={nameError} />
      <TextArea
        label="Public key"
        rows={3}
        spellCheck={false}
        className="font-mono"
        value={publicKey}
        placeholder="ssh-ed25519 AAAA…"
        onValue={setPublicKey}
        error={keyError}
        hint={
          <>
            The output of <code>cat ~/.ssh/id_ed25519.pub</code>. No key yet? Create one with{' '}
            <code>ssh-keygen -t ed25519</code>. Never paste a private key.
          </>
        }
      />
      {add.error !== null && nameError === undefined && keyError === undefined && (
        <Problem error={add.error} doing="add the key" />
      )}
      <div>
        <Button
          type="submit"
          busy={add.isPending && 'Adding…'}
          off={mayNot('ssh-keys:write') || (!isReady && 'Enter a name and a public key.')}
        >
          Save key
        </Button>
      </div>
    </Form>
  );
}
