import type { Output } from '@millrace/sdk';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import { useApiQuery } from '../../api/queries.ts';
import { useInstallation, useSession } from '../../api/session.tsx';
import { Badge, StateBadge } from '../../ui/badge.tsx';
import { Button, type ButtonKind } from '../../ui/button.tsx';
import { CodeBlock, CommandHint, CopyButton } from '../../ui/copy.tsx';
import { CheckboxField } from '../../ui/field.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { OneTimeSecret } from '../../ui/secret.tsx';
import type { Column } from '../../ui/table.tsx';
import { RelativeTime, useNow, Timestamp } from '../../ui/time.tsx';
import { CreateKey } from './create-key.tsx';
import { RevokeKey, RotateKey } from './key-actions.tsx';
import { keySnippet, keyState, limitLines, type ApiKey } from './key-form.ts';
import { scopesText } from './scope-choice.ts';
import { useCreateHash } from '../../app/use-create-hash.ts';

type NewKey = Output<'createApiKey'>;

type OpenDialog =
  | { readonly what: 'create' }
  | { readonly what: 'rotate' | 'revoke'; readonly key: ApiKey }
  | { readonly what: 'made'; readonly made: NewKey; readonly previousUntil: string | null }
  | null;

/** Names of key creators; without permission to see members, their ids are shown. */
function useMemberNames() {
  const { may, place } = useSession();
  return useApiQuery(
    ['team', 'names'],
    async (client, signal): Promise<ReadonlyMap<string, string>> => {
      const { organisationId } = place;
      const members = await client.members.list({ organisationId, limit: 200 }, { signal }).all();
      return new Map(members.map(({ userId, name, email }) => [userId, name ?? email]));
    },
    { enabled: may('members:read') },
  );
}

export function KeysPage() {
  const { mayNot } = useSession();
  const { show } = useSearch({ from: '/shell/inside/keys' });
  const navigate = useNavigate();
  const now = useNow(30_000);
  const [open, setOpen] = useState<OpenDialog>(null);
  const keys = usePages(['keys', 'list'], (client, signal) => client.keys.list({}, { signal }));
  const people = useMemberNames();
  const columns = useColumns(now, people.data, setOpen);
  const close = (): void => setOpen(null);
  useCreateHash(() => setOpen(mayNot('api-keys:write') === false ? { what: 'create' } : null));
  const create = (
    <Button
      kind="primary"
      icon={<Plus aria-hidden className="size-4" />}
      off={mayNot('api-keys:write')}
      onClick={() => setOpen({ what: 'create' })}
    >
      Create API key
    </Button>
  );
  return (
    <>
      <PageHeader
        title="API keys"
        about="Keys let programs and the CLI use the API with the permissions you choose."
        actions={create}
      />
      <div className="mb-3">
        <CheckboxField
          label="Show revoked and expired keys"
          checked={show === 'all'}
          onValue={(value) =>
            void navigate({ to: '/keys', search: value ? { show: 'all' } : {}, replace: true })
          }
        />
      </div>
      <Card flush>
        <PagedTable
          pages={keys}
          what="API keys"
          caption="API keys, newest first"
          columns={columns}
          // A name instead of an id moves the rows.
          isWaiting={people.isLoading}
          {...(show === 'all' ? {} : { keep: (key: ApiKey) => keyState(key, now) === 'active' })}
          icon={KeyRound}
          empty="No active API keys"
          action={create}
          hint="Create one to use the CLI, the SDK or models from your programs."
        />
      </Card>
      <CommandHint command="millrace key list" />
      {open?.what === 'create' && (
        <CreateKey onClose={close} onMade={(made) => setOpen({ what: 'made', made, previousUntil: null })} />
      )}
      {open?.what === 'rotate' && (
        <RotateKey
          apiKey={open.key}
          onClose={close}
          onMade={(made) => setOpen({ what: 'made', made, previousUntil: made.previous.expiresAt })}
        />
      )}
      {open?.what === 'revoke' && <RevokeKey apiKey={open.key} onClose={close} />}
      {open?.what === 'made' && (
        <CreatedKey made={open.made} previousUntil={open.previousUntil} onClose={close} />
      )}
    </>
  );
}

function useColumns(
  now: number,
  memberNames: ReadonlyMap<string, string> | undefined,
  onOpen: (open: OpenDialog) => void,
): readonly Column<ApiKey>[] {
  const { may, mayNot } = useSession();
  return [
    {
      head: 'Name',
      main: true,
      cell: (key) => <KeyName apiKey={key} />,
    },
    {
      head: 'Status',
      cell: (key) => (
        <span className="inline-flex flex-wrap gap-1">
          <StateBadge state={keyState(key, now)} />
          <Badge tone={key.mode === 'test' ? 'warn' : 'plain'} shape={false}>
            {key.mode}
          </Badge>
        </span>
      ),
    },
    {
      head: 'Permissions',
      cell: ({ scopes }) => <span title={scopes.join(', ')}>{scopesText(scopes, may)}</span>,
    },
    { head: 'Limits', cell: (key) => <Limits apiKey={key} /> },
    {
      head: 'Last used',
      cell: ({ lastUsedAt }) =>
        lastUsedAt === null ? <span className="text-soft">never</span> : <RelativeTime at={lastUsedAt} />,
    },
    {
      head: 'Expires',
      cell: ({ expiresAt }) =>
        expiresAt === null ? <span className="text-soft">never</span> : <Timestamp at={expiresAt} />,
    },
    {
      head: 'Created by',
      cell: ({ createdBy, createdAt }) => (
        <>
          {memberNames?.get(createdBy) ?? <code className="break-all">{createdBy}</code>}{' '}
          <span className="text-soft text-xs">
            <RelativeTime at={createdAt} />
          </span>
        </>
      ),
    },
    {
      head: 'Actions',
      cell: (key) => {
        const state = keyState(key, now);
        const off = mayNot('api-keys:write') || (state !== 'active' && `This key is already ${state}.`);
        const button = (what: 'rotate' | 'revoke', label: string, kind: ButtonKind) => (
          <Button
            size="small"
            kind={kind}
            off={off}
            aria-label={`${label} ${key.name}`}
            onClick={() => onOpen({ what, key })}
          >
            {label}
          </Button>
        );
        return (
          <span className="inline-flex flex-wrap gap-1">
            {button('rotate', 'Rotate', 'plain')}
            {button('revoke', 'Revoke', 'danger')}
          </span>
        );
      },
    },
  ];
}

function KeyName({ apiKey: { name, prefix } }: Readonly<{ apiKey: ApiKey }>) {
  return (
    <>
      {name}
      <span className="text-soft flex items-center font-normal">
        <code className="break-all md:whitespace-nowrap">{prefix}…</code>
        <CopyButton text={prefix} what={`prefix of ${name}`} />
      </span>
    </>
  );
}

function Limits({ apiKey: { limits, allowedIps } }: Readonly<{ apiKey: ApiKey }>) {
  const from = allowedIps.length === 0 ? [] : [`from ${allowedIps.join(', ')}`];
  const lines = [...limitLines(limits), ...from];
  if (lines.length === 0) return <span className="text-soft">none</span>;
  return (
    <ul>
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}

function CreatedKey(props: Readonly<{ made: NewKey; previousUntil: string | null; onClose: () => void }>) {
  const { made, previousUntil, onClose } = props;
  const { data: installation } = useInstallation();
  const urls = {
    api: installation?.publicUrl ?? globalThis.location.origin,
    inference: installation?.inferenceUrl ?? null,
  };
  return (
    <OneTimeSecret
      title={`API key ${made.name}`}
      what="API key"
      secret={made.key}
      lost={`The key was created, but the response was lost. A key is shown only once: rotate ${made.name} to get one that you can see.`}
      onClose={onClose}
    >
      {made.key !== null && (
        <CodeBlock code={keySnippet(made.scopes, urls)} what="test request" label="Try it" />
      )}
      {previousUntil !== null && (
        <p>
          The previous key works until <Timestamp at={previousUntil} />.
        </p>
      )}
    </OneTimeSecret>
  );
}
