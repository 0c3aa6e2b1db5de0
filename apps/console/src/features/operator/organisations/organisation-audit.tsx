import type { Item } from '@millrace/sdk';
import { ScrollText } from 'lucide-react';
import { useApiQuery } from '../../../api/queries.ts';
import { CopyButton } from '../../../ui/copy.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Card } from '../../../ui/page.tsx';
import type { Column } from '../../../ui/table.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { NamedId } from '../common/named-id.tsx';

type Entry = Item<'adminListAuditLog'>;
type Member = Item<'adminListMembers'>;

const actorKinds: Readonly<Record<string, string>> = { user: 'another user', key: 'an API key' };

/** Changes in the organisation, with members by name. */
export function OrganisationAudit({ organisationId }: Readonly<{ organisationId: string }>) {
  const members = useApiQuery(['admin', 'organisation', organisationId, 'member-names'], (client, signal) =>
    client.admin.organisations.listMembers({ organisationId, limit: 200 }, { signal }).all(),
  );
  const pages = usePages(['admin', 'audit', organisationId], (client, signal) =>
    client.admin.auditLog.list({ organisationId, limit: 50 }, { signal }),
  );
  return (
    <Card flush>
      <PagedTable
        pages={pages}
        what="entries"
        caption="Audit log of the organisation"
        columns={columnsOf(members.data ?? [])}
        icon={ScrollText}
        empty="No entries yet"
        hint="Every change by members, keys and operators is an entry."
      />
    </Card>
  );
}

function columnsOf(members: readonly Member[]): readonly Column<Entry>[] {
  return [
    { head: 'Time', main: true, cell: ({ occurredAt }) => <Timestamp at={occurredAt} /> },
    { head: 'Action', cell: ({ action }) => action.replaceAll(/[._]/g, ' ') },
    {
      head: 'Actor',
      cell: ({ actor }) => {
        const member = members.find(({ userId }) => userId === actor.id);
        const name = member?.name ?? member?.email ?? actorKinds[actor.kind] ?? actor.kind;
        return (
          <span className="inline-flex items-center gap-1">
            {name} <CopyButton text={actor.id} what={`ID of ${name}`} />
          </span>
        );
      },
    },
    {
      head: 'Resource',
      cell: ({ resource }) => (resource === null ? '' : <NamedId kind={resource.kind} id={resource.id} />),
    },
    { head: 'Reason', cell: ({ reason }) => reason ?? '' },
  ];
}
