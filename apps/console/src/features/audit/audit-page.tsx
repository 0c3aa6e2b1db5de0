import type { Item } from '@millrace/sdk';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ScrollText } from 'lucide-react';
import { Button } from '../../ui/button.tsx';
import { CommandHint, CopyButton } from '../../ui/copy.tsx';
import { TextField } from '../../ui/field.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Timestamp } from '../../ui/time.tsx';
import type { AuditSearch } from './routes.tsx';
import { Form } from '../../ui/form.tsx';

type Entry = Item<'listAuditLog'>;

const filters = [
  ['action', 'Action', 'key.created'],
  ['actor', 'Actor ID', 'usr_…'],
  ['resource', 'Resource ID', 'key_…'],
] as const;

export function AuditPage() {
  const search = useSearch({ from: '/shell/inside/audit' });
  const navigate = useNavigate();
  const pages = usePages(['audit', search], (client, signal) =>
    client.auditLog.list(
      {
        ...(search.action === undefined ? {} : { action: search.action }),
        ...(search.actor === undefined ? {} : { actorId: search.actor }),
        ...(search.resource === undefined ? {} : { resourceId: search.resource }),
      },
      { signal },
    ),
  );
  const filter = (form: HTMLFormElement): void => {
    const next: Record<string, string> = {};
    for (const [name, value] of new FormData(form)) {
      if (typeof value === 'string' && value.trim() !== '') next[name] = value.trim();
    }
    void navigate({ to: '/audit', search: next as AuditSearch });
  };
  const isFiltered = Object.keys(search).length > 0;
  return (
    <>
      <PageHeader
        title="Audit log"
        about="Every change, who made it and from where. Entries cannot be edited."
      />
      <Form
        key={JSON.stringify(search)}
        className="mb-4 grid items-end gap-3 sm:grid-cols-[1fr_1fr_1fr_auto]"
        onSend={(form) => filter(form)}
      >
        {filters.map(([name, label, example]) => (
          <TextField
            key={name}
            label={label}
            name={name}
            placeholder={example}
            defaultValue={search[name] ?? ''}
            maxLength={100}
          />
        ))}
        <Button type="submit">Filter</Button>
      </Form>
      <Card flush>
        <PagedTable
          pages={pages}
          what="entries"
          caption="Audit log"
          icon={ScrollText}
          empty={isFiltered ? 'No entries match' : 'No changes yet'}
          hint={isFiltered ? undefined : 'Every change by members, keys and the operator is listed here.'}
          action={
            isFiltered && <Button onClick={() => void navigate({ to: '/audit' })}>Clear filters</Button>
          }
          columns={[
            { head: 'Time', cell: ({ occurredAt }) => <Timestamp at={occurredAt} /> },
            { head: 'Action', main: true, cell: (entry) => <ActionCell entry={entry} /> },
            { head: 'Actor', cell: ({ actor }) => <Reference kind={actor.kind} id={actor.id} /> },
            {
              head: 'Resource',
              cell: ({ resource }) =>
                resource === null ? 'installation' : <Reference kind={resource.kind} id={resource.id} />,
            },
            { head: 'IP address', cell: ({ ip }) => ip ?? 'internal' },
          ]}
        />
      </Card>
      <CommandHint command="millrace audit-log list" />
    </>
  );
}

function ActionCell({ entry }: Readonly<{ entry: Entry }>) {
  const details = Object.keys(entry.details).length === 0 ? null : JSON.stringify(entry.details, null, 2);
  return (
    <div className="text-left">
      {entry.action.replaceAll('.', ' ').replaceAll('_', ' ')}
      {entry.reason !== null && <span className="text-soft block font-normal">“{entry.reason}”</span>}
      {details !== null && (
        <details className="font-normal">
          <summary className="text-soft text-xs">Details</summary>
          <pre className="bg-raised mt-1 max-w-full overflow-x-auto rounded p-2 whitespace-pre-wrap break-words">
            {details}
          </pre>
        </details>
      )}
      {entry.requestId !== null && (
        <span className="text-soft flex items-center gap-1 text-xs font-normal">
          <code className="break-all">{entry.requestId}</code>
          <CopyButton text={entry.requestId} what="request id" />
        </span>
      )}
    </div>
  );
}

function Reference({ kind, id }: Readonly<{ kind: string; id: string }>) {
  return (
    <span>
      {kind}
      <code className="text-soft block text-xs break-all">{id}</code>
    </span>
  );
}
