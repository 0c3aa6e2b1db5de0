import type { Item } from '@millrace/sdk';
import { exactDuration } from '@millrace/sdk/text';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Boxes } from 'lucide-react';
import { useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { StateBadge } from '../../ui/badge.tsx';
import { CommandHint, CopyButton } from '../../ui/copy.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { LiveCost, Money, PerHour } from '../../ui/money.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Timestamp } from '../../ui/time.tsx';
import { instanceRefetchMs, portAddress } from './instance.ts';
import { gpuName, perHour } from './machine.ts';
import { LinkButton, TextLink } from '../../ui/link.tsx';

type Listed = Item<'listMarketplaceInstances'>;
type Ended = Item<'listMarketplaceInstanceHistory'>;

export function InstancesPage() {
  const { view } = useSearch({ from: '/shell/inside/instances' });
  const navigate = useNavigate();
  return (
    <>
      <PageHeader
        title="Instances"
        about="Your instances on the marketplace."
        actions={
          <LinkButton to="/marketplace" kind="primary">
            Rent an instance
          </LinkButton>
        }
      />
      <Tabs
        label="Instances"
        open={view ?? 'live'}
        onOpen={(id) =>
          void navigate({ to: '/instances', search: id === 'history' ? { view: 'history' } : {} })
        }
        tabs={[
          { id: 'live', label: 'Active', content: () => <Live /> },
          { id: 'history', label: 'Ended', content: () => <History /> },
        ]}
      />
    </>
  );
}

const nameLink = (name: string) => (
  <TextLink to="/instances/$name" params={{ name }}>
    {name}
  </TextLink>
);

/** Machines list their live price; test mode is free. */
function ListedPrice({ nano }: Readonly<{ nano: bigint }>) {
  const { mode } = useSession().place;
  if (mode === 'live') return <PerHour nano={nano} />;
  return (
    <>
      <PerHour nano="0" />
      <LiveCost nano={nano} perHour />
    </>
  );
}

const liveColumns: readonly Column<Listed>[] = [
  { head: 'Name', main: true, cell: ({ id }) => nameLink(id) },
  { head: 'Status', cell: ({ instance }) => <StateBadge state={instance.status} /> },
  { head: 'GPUs', cell: ({ instance }) => `${String(instance.gpu_count)} × ${gpuName(instance)}` },
  { head: 'Region', cell: ({ instance }) => instance.location.region },
  {
    head: 'Log in',
    cell: ({ sshCommand }) =>
      sshCommand === null ? (
        <span className="text-soft">not yet</span>
      ) : (
        <span className="inline-flex items-start gap-1">
          <code className="min-w-0 break-words">{sshCommand}</code>
          <CopyButton text={sshCommand} what="SSH command" />
        </span>
      ),
  },
  {
    head: 'Ports',
    cell: ({ portMappings }) =>
      portMappings.length === 0 ? (
        <span className="text-soft">none</span>
      ) : (
        <ul>
          {portMappings.map((port) => (
            <li key={`${port.domain} ${String(port.port)}`} className="break-words">
              {portAddress(port).text}
            </li>
          ))}
        </ul>
      ),
  },
  {
    head: 'Per hour',
    right: true,
    cell: ({ instance }) => <ListedPrice nano={perHour(instance, instance.gpu_count)} />,
  },
  { head: 'Spent', right: true, cell: ({ id }) => <Spent name={id} /> },
];

function Live() {
  const pages = usePages<Listed>(
    ['instances', 'live'],
    (client, signal) => client.marketplace.instances.list({}, { signal }),
    { refetchMs: 2_000 },
  );
  // Read at once, so that the text of an empty list is known with the list.
  const hadAny = useApiQuery(['instances', 'had-any'], async (client, signal) => {
    const { items } = await client.marketplace.instances.listHistory({ limit: 1 }, { signal });
    return items.length > 0;
  });
  return (
    <>
      <Card flush>
        <PagedTable
          pages={pages}
          isWaiting={hadAny.isLoading}
          what="instances"
          caption="Your instances"
          columns={liveColumns}
          icon={Boxes}
          empty={hadAny.data === true ? 'No active instances' : 'No instances yet'}
          action={
            hadAny.data === true ? (
              <LinkButton to="/instances" search={{ view: 'history' }}>
                View ended instances
              </LinkButton>
            ) : undefined
          }
          hint="Choose a machine on the marketplace and rent some of its GPUs."
        />
      </Card>
      <CommandHint command="millrace market instances" />
    </>
  );
}

/** The list operation has no cost, so each instance is read for it. */
function Spent({ name }: Readonly<{ name: string }>) {
  const { data } = useApiQuery(
    ['instances', 'one', name],
    async (client, signal) => client.marketplace.instances.get({ name }, { signal }),
    { refetchMs: instanceRefetchMs },
  );
  return data === undefined ? <span className="text-soft">…</span> : <Money nano={data.costSoFarNanoUsd} />;
}

function durationText({ started_at: from, terminated_at: until }: Ended): string {
  if (from === null || until === null) return 'never ready';
  return exactDuration((Date.parse(until) - Date.parse(from)) * 0.001);
}

const endedColumns: readonly Column<Ended>[] = [
  { head: 'Name', main: true, cell: ({ instance_name: name }) => nameLink(name) },
  { head: 'GPUs', cell: (ended) => `${String(ended.gpu_count)} × ${gpuName(ended)}` },
  { head: 'Ended', cell: ({ terminated_at: at }) => (at === null ? '–' : <Timestamp at={at} />) },
  { head: 'Ran for', cell: durationText },
  {
    head: 'Per hour',
    right: true,
    cell: ({ price, gpu_count: gpus }) => <ListedPrice nano={perHour({ pricing: { price } }, gpus)} />,
  },
  { head: 'Cost', right: true, cell: ({ cost_nano_usd: cost }) => <Money nano={cost} /> },
];

function History() {
  const pages = usePages<Ended>(['instances', 'history'], (client, signal) =>
    client.marketplace.instances.listHistory({ limit: 50 }, { signal }),
  );
  return (
    <>
      <Card flush>
        <PagedTable
          pages={pages}
          what="ended instances"
          caption="Ended instances"
          columns={endedColumns}
          rowKey={({ instance_name: name }) => name}
          icon={Boxes}
          empty="No ended instances"
          hint="Terminated instances appear here with their cost."
        />
      </Card>
      <CommandHint command="millrace market history" />
    </>
  );
}
