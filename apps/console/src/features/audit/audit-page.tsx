import type { Item } from '@millrace/sdk';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ArrowRight, ScrollText, SearchX } from 'lucide-react';
import { definedParams } from '../../app/search-params.ts';
import { Button } from '../../ui/button.tsx';
import { CommandHint, CopyButton } from '../../ui/copy.tsx';
import { FilterField, TextField } from '../../ui/field.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Timestamp } from '../../ui/time.tsx';
import { daysPeriod } from '../rentals/search.ts';
import { actionChoices, actionLabel, resourceLabel } from './actions.ts';
import { fieldChanges, resourceName, splitChanges, type FieldChange } from './changes.ts';
import { useNames, type Names } from './names.ts';
import type { AuditSearch } from './routes.tsx';

type Entry = Item<'listAuditLog'>;

export function AuditPage() {
  const search = useSearch({ from: '/shell/inside/audit' });
  const navigate = useNavigate();
  const names = useNames();
  const { action, actor, resource } = search;
  const pages = usePages(
    ['audit', search],
    (client, signal) =>
      client.auditLog.list(
        { ...definedParams({ action, actorId: actor, resourceId: resource }), ...daysPeriod(search) },
        { signal },
      ),
    { pagesMax: 5 },
  );
  const isFiltered = Object.keys(search).length > 0;
  return (
    <>
      <PageHeader
        title="Audit log"
        about="Every change, who made it and from where. Entries cannot be edited."
      />
      <Filters search={search} names={names} />
      <Card flush>
        <PagedTable
          pages={pages}
          what="entries"
          caption="Audit log"
          icon={isFiltered ? SearchX : ScrollText}
          empty={isFiltered ? 'No entries match' : 'No changes yet'}
          hint={isFiltered ? undefined : 'Changes to keys, members, rentals and money appear here.'}
          action={
            isFiltered && <Button onClick={() => void navigate({ to: '/audit' })}>Clear filters</Button>
          }
          columns={[
            {
              head: 'Time',
              cell: ({ occurredAt }) => (
                <span className="lg:whitespace-nowrap">
                  <Timestamp at={occurredAt} />
                </span>
              ),
            },
            { head: 'Action', main: true, cell: (entry) => <ActionCell entry={entry} /> },
            { head: 'Actor', cell: ({ actor }) => <Actor actor={actor} names={names} /> },
            { head: 'Resource', cell: (entry) => <Resource entry={entry} names={names} /> },
            { head: 'Origin', cell: (entry) => <Origin entry={entry} /> },
          ]}
        />
      </Card>
      <CommandHint command="millrace audit-log list" />
    </>
  );
}

function Filters({ search, names }: Readonly<{ search: AuditSearch; names: Names }>) {
  const navigate = useNavigate();
  const set = (changes: { readonly [Name in keyof AuditSearch]?: AuditSearch[Name] | undefined }): void =>
    void navigate({ to: '/audit', search: definedParams({ ...search, ...changes }), replace: true });
  return (
    <div className="mb-4 grid items-end gap-3 sm:grid-cols-2 lg:grid-cols-4">
      <FilterField
        label="Action"
        all="All actions"
        value={search.action}
        choices={actionChoices(search.action)}
        onValue={(action) => set({ action })}
      />
      <FilterField
        label="Actor"
        all="All actors"
        value={search.actor}
        choices={actorChoices(names, search.actor)}
        onValue={(actor) => set({ actor })}
      />
      <TextField
        type="date"
        label="From"
        value={search.from ?? ''}
        onValue={(from) => set({ from: from || undefined })}
      />
      <TextField
        type="date"
        label="Through"
        value={search.until ?? ''}
        onValue={(until) => set({ until: until || undefined })}
      />
      {search.resource !== undefined && (
        <div className="flex flex-wrap items-center gap-2 sm:col-span-2 lg:col-span-4">
          <span>
            Only changes of <code className="break-all">{search.resource}</code>
          </span>
          <Button size="small" onClick={() => set({ resource: undefined })}>
            Show all resources
          </Button>
        </div>
      )}
    </div>
  );
}

function actorChoices({ users, keys }: Names, chosen: string | undefined) {
  const known = [
    ...[...users].map(([value, label]) => ({ value, label })),
    ...[...keys].map(([value, name]) => ({ value, label: `API key ${name}` })),
  ];
  if (chosen === undefined || users.has(chosen) || keys.has(chosen)) return known;
  return [...known, { value: chosen, label: chosen }];
}

function ActionCell({ entry }: Readonly<{ entry: Entry }>) {
  const changes = fieldChanges(entry.details);
  return (
    <div className="text-left">
      {actionLabel(entry.action)}
      {entry.reason !== null && <span className="text-soft block font-normal">“{entry.reason}”</span>}
      {changes.length > 0 && <Changes changes={changes} />}
    </div>
  );
}

function Changes({ changes }: Readonly<{ changes: readonly FieldChange[] }>) {
  const { shown, more } = splitChanges(changes);
  return (
    <div className="mt-1 text-xs font-normal">
      <ChangeList changes={shown} />
      {more.length > 0 && (
        <details>
          <summary className="text-soft">
            {more.length === 1 ? '1 more field' : `${String(more.length)} more fields`}
          </summary>
          <ChangeList changes={more} />
        </details>
      )}
    </div>
  );
}

function ChangeList({ changes }: Readonly<{ changes: readonly FieldChange[] }>) {
  return (
    <dl className="flex flex-wrap gap-x-4 gap-y-0.5">
      {changes.map(({ field, before, after }) => (
        <div key={field} className="flex flex-wrap gap-x-1.5">
          <dt className="text-soft">{field}:</dt>
          <dd className="flex min-w-0 flex-wrap items-center gap-x-1">
            {before !== undefined && <del className="text-soft wrap-anywhere">{before}</del>}
            {before !== undefined && after !== undefined && (
              <ArrowRight role="img" aria-label="changed to" className="size-3 shrink-0" />
            )}
            {after !== undefined && <span className="wrap-anywhere">{after}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

const actorLabels = { key: 'API key', user: 'User', operator: 'Operator', system: 'System' } as const;

function Actor({ actor, names }: Readonly<{ actor: Entry['actor']; names: Names }>) {
  const { kind, id } = actor;
  const name = names.users.get(id) ?? names.keys.get(id);
  return <Named label={actorLabels[kind]} name={name} id={id} what="actor ID" />;
}

function Resource({ entry, names }: Readonly<{ entry: Entry; names: Names }>) {
  const { resource, details } = entry;
  if (resource === null) return 'Installation';
  const { kind, id } = resource;
  const name = names.users.get(id) ?? names.keys.get(id) ?? resourceName(details) ?? undefined;
  return <Named label={resourceLabel(kind)} name={name} id={id} what="resource ID" />;
}

/** Ids of rentals are short numbers, which can be read. */
const SHORT_ID = 12;

/** A name with its kind below; the id is in the tooltip and behind the copy button. */
function Named(props: Readonly<{ label: string; name: string | undefined; id: string; what: string }>) {
  const { label, name, id, what } = props;
  return (
    <span className="inline-flex max-w-full items-start gap-1" title={id}>
      <span className="min-w-0 break-words">
        {name ?? (id.length <= SHORT_ID ? `${label} ${id}` : label)}
        {name !== undefined && <span className="text-soft block text-xs">{label}</span>}
      </span>
      <CopyButton text={id} what={what} />
    </span>
  );
}

function Origin({ entry: { ip, requestId } }: Readonly<{ entry: Entry }>) {
  return (
    <span className="inline-flex items-center gap-1">
      {ip ?? 'internal'}
      {requestId !== null && <CopyButton text={requestId} what="request ID" />}
    </span>
  );
}
