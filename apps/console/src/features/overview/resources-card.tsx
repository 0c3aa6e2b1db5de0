import type { UseQueryResult } from '@tanstack/react-query';
import { Server } from 'lucide-react';
import { useSession } from '../../api/session.tsx';
import { LinkButton, TextLink } from '../../ui/link.tsx';
import { Card } from '../../ui/page.tsx';
import { TableSkeleton } from '../../ui/skeleton.tsx';
import { EmptyState, QueryView } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { HourlyCost } from '../rentals/hourly-cost.tsx';
import { resourceRows, type ResourceRow } from './resource-rows.tsx';
import type { Resources } from './reads.ts';

const ROWS_SHOWN = 8;

const columns: readonly Column<ResourceRow>[] = [
  {
    head: 'Resource',
    main: true,
    cell: ({ name, about, to }) => (
      <>
        <TextLink to={to} className="text-accent font-medium underline-offset-2">
          {name}
        </TextLink>
        <span className="text-soft block text-xs font-normal">{about}</span>
      </>
    ),
  },
  { head: 'Status', cell: ({ state }) => state },
  {
    head: 'Cost per hour',
    right: true,
    cell: ({ perHour, livePerHour, whileRunning, isPrepaid }) => (
      <HourlyCost {...{ perHour, livePerHour, whileRunning, isPrepaid }} />
    ),
  },
];

export function ResourcesCard({ resources }: Readonly<{ resources: UseQueryResult<Resources> }>) {
  const {
    place: { mode },
  } = useSession();
  return (
    <Card
      title="Machines and volumes"
      about="Also those that are off, the most expensive first"
      actions={<TextLink to="/rentals">All rentals</TextLink>}
      flush
    >
      <QueryView
        query={resources}
        what="resources"
        skeleton={<TableSkeleton what="resources" columns={columns.length} />}
      >
        {(data) => {
          const rows = resourceRows(data, mode);
          if (rows.length === 0) {
            return (
              <EmptyState
                icon={Server}
                title="No machines or volumes"
                action={
                  <LinkButton to="/catalog" kind="primary">
                    Rent a machine
                  </LinkButton>
                }
              >
                A machine is ready in about a minute and is billed by the second.
              </EmptyState>
            );
          }
          const hidden = rows.length - ROWS_SHOWN;
          return (
            <>
              <Table
                caption="Machines and volumes with their cost per hour"
                columns={columns}
                rows={rows.slice(0, ROWS_SHOWN)}
                rowKey={({ key }) => key}
              />
              {hidden > 0 && (
                <p className="border-line text-soft border-t px-4 py-2 text-xs">
                  {data.hasMore ? 'More than ' : ''}
                  {hidden} more: <TextLink to="/rentals">rentals</TextLink>,{' '}
                  <TextLink to="/volumes">volumes</TextLink>, <TextLink to="/instances">instances</TextLink>
                </p>
              )}
            </>
          );
        }}
      </QueryView>
    </Card>
  );
}
