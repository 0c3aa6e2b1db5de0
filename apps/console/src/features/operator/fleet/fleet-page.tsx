import { getRouteApi } from '@tanstack/react-router';
import { Network, SearchX } from 'lucide-react';
import { useDeferredValue, useMemo, useState } from 'react';
import { useApiQuery } from '../../../api/queries.ts';
import { StateBadge } from '../../../ui/badge.tsx';
import { Button } from '../../../ui/button.tsx';
import { CommandHint } from '../../../ui/copy.tsx';
import { FilterField, TextField } from '../../../ui/field.tsx';
import { Card, KeyFigures, PageHeader } from '../../../ui/page.tsx';
import { EmptyState, QueryView } from '../../../ui/states.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { FleetMap, Legend } from './fleet-map.tsx';
import { countsOf, countsText, groupFleet, refreshMs, type FleetCluster } from './fleet-layout.ts';
import { fleetChoices, filterNodes, type FleetFilter, type FleetNode } from '../common/fleet-nodes.ts';
import { nodeStatuses } from './fleet-search.ts';
import { operatorPage } from '../common/operator-page.tsx';
import { Form } from '../../../ui/form.tsx';
import { LinkButton, TextLink } from '../../../ui/link.tsx';

const route = getRouteApi('/shell/inside/operator/fleet');

export const FleetPage = operatorPage('Fleet', Fleet);

function useFleet() {
  return useApiQuery(
    ['admin', 'fleet'],
    async (client, signal) => {
      const [nodes, clusters] = await Promise.all([
        client.admin.nodes.list({ limit: 200 }, { signal }).all(),
        client.admin.clusters.list({ limit: 200 }, { signal }).all(),
      ]);
      return { nodes, clusters };
    },
    { refetchMs: (fleet) => refreshMs(fleet?.nodes.length ?? 0) },
  );
}

function Fleet() {
  const fleet = useFleet();
  return (
    <>
      <PageHeader
        title="Fleet"
        about="All clusters and nodes, with one cell per GPU."
        actions={
          <>
            <LinkButton to="/operator/maintenance">Maintenance</LinkButton>
            <LinkButton to="/operator/rentals">All rentals</LinkButton>
          </>
        }
      />
      <QueryView query={fleet} what="fleet">
        {({ nodes, clusters }) => <Loaded nodes={nodes} clusters={clusters} />}
      </QueryView>
      <CommandHint command="millrace admin fleet" />
    </>
  );
}

function Loaded(props: Readonly<{ nodes: readonly FleetNode[]; clusters: readonly FleetCluster[] }>) {
  const { nodes, clusters } = props;
  const { view = 'map', ...filter } = route.useSearch();
  const navigate = route.useNavigate();
  // Compare as text, because the router creates a new object at every URL change.
  const wantedText = useDeferredValue(JSON.stringify(filter));
  const wanted = useMemo(() => JSON.parse(wantedText) as FleetFilter, [wantedText]);
  const shown = useMemo(() => filterNodes(nodes, wanted), [nodes, wanted]);
  const isFiltered = Object.values(wanted).some((value) => value !== undefined);
  if (nodes.length === 0 && clusters.length === 0) {
    return (
      <Card>
        <EmptyState
          icon={Network}
          title="No clusters yet"
          action={
            <LinkButton to="/operator/providers" kind="primary">
              Register cluster
            </LinkButton>
          }
        >
          Register the endpoint of a compute engine to import its nodes and GPUs.
        </EmptyState>
      </Card>
    );
  }
  return (
    <>
      <Overview nodes={shown} isFiltered={isFiltered} />
      <Filters nodes={nodes} filter={filter} />
      <Tabs
        label="View"
        open={view}
        onOpen={(id) =>
          void navigate({ search: (before) => ({ ...before, view: id === 'table' ? 'table' : undefined }) })
        }
        tabs={[
          {
            id: 'map',
            label: 'Map',
            content: () => <MapView nodes={shown} clusters={clusters} isFiltered={isFiltered} />,
          },
          { id: 'table', label: 'Table', content: () => <TableView nodes={shown} /> },
        ]}
      />
    </>
  );
}

const troubledStatuses = ['node_offline', 'node_quarantined'] as const;

function Overview({ nodes, isFiltered }: Readonly<{ nodes: readonly FleetNode[]; isFiltered: boolean }>) {
  const counts = useMemo(() => countsOf(nodes), [nodes]);
  const unavailable = counts.gpus - counts.rented - counts.free;
  const troubled = nodes.filter(({ status }) => troubledStatuses.some((each) => each === status));
  return (
    <KeyFigures
      items={[
        { label: 'Nodes', value: counts.nodes, note: isFiltered ? 'matching the filter' : 'in the fleet' },
        { label: 'GPUs', value: counts.gpus, note: 'of live and test mode' },
        { label: 'Sold', value: counts.rented, note: 'including unreachable nodes' },
        { label: 'Free', value: counts.free, note: `${String(unavailable)} unavailable` },
        { label: 'Unhealthy nodes', value: troubled.length, note: <Troubled nodes={troubled} /> },
      ]}
    />
  );
}

/** Counts by status, each a link to these nodes in the table. */
function Troubled({ nodes }: Readonly<{ nodes: readonly FleetNode[] }>) {
  const search = route.useSearch();
  const counts = troubledStatuses
    .map((status) => ({ status, count: nodes.filter((node) => node.status === status).length }))
    .filter(({ count }) => count > 0);
  if (counts.length === 0) return 'offline or quarantined';
  return counts.map(({ status, count }, index) => (
    <span key={status}>
      {index > 0 && ', '}
      <TextLink to="/operator/fleet" search={{ ...search, status, view: 'table' }}>
        {`${String(count)} ${status.replace(/^node_/, '')}`}
      </TextLink>
    </span>
  ));
}

function Filters({ nodes, filter }: Readonly<{ nodes: readonly FleetNode[]; filter: FleetFilter }>) {
  const navigate = route.useNavigate();
  const { regions, providers, gpus } = useMemo(() => fleetChoices(nodes), [nodes]);
  const set = (change: FleetFilter): void =>
    void navigate({ search: (before) => ({ ...before, ...change }) as typeof before, replace: true });
  const select = (label: string, name: keyof FleetFilter, all: string, values: readonly string[]) => (
    <FilterField
      label={label}
      value={filter[name]}
      all={all}
      choices={values.map((value) => ({ value, label: value.replace(/^node_/, '') }))}
      onValue={(value) => set({ [name]: value })}
    />
  );
  return (
    <Card>
      <Form role="search" className="grid grid-cols-2 gap-3 md:grid-cols-5">
        {/* The URL follows the input at once; the map renders deferred. */}
        <TextField
          label="Search"
          type="search"
          placeholder="name, id or reason"
          value={filter.find ?? ''}
          onValue={(value) => set({ find: value || undefined })}
        />
        {select('Region', 'region', 'All regions', regions)}
        {select('Provider', 'provider', 'All providers', providers)}
        {select('Status', 'status', 'All statuses', nodeStatuses)}
        {select('GPU', 'gpu', 'All GPUs', gpus)}
      </Form>
    </Card>
  );
}

function NoNodesMatch() {
  return (
    <Card>
      <EmptyState
        icon={SearchX}
        title="No nodes match"
        action={
          <LinkButton to="/operator/fleet" search={{}}>
            Clear filters
          </LinkButton>
        }
      />
    </Card>
  );
}

function MapView({
  nodes,
  clusters,
  isFiltered,
}: Readonly<{ nodes: readonly FleetNode[]; clusters: readonly FleetCluster[]; isFiltered: boolean }>) {
  const regions = useMemo(
    () => groupFleet(clusters, nodes, { withEmpty: !isFiltered }),
    [clusters, nodes, isFiltered],
  );
  if (regions.length === 0) return <NoNodesMatch />;
  return (
    <>
      <div className="mb-3">
        <Legend />
      </div>
      <FleetMap regions={regions} />
    </>
  );
}

const columns: readonly Column<FleetNode>[] = [
  {
    head: 'Node',
    main: true,
    cell: ({ id, name }) => (
      <TextLink to="/operator/nodes/$nodeId" params={{ nodeId: id }}>
        {name}
      </TextLink>
    ),
  },
  { head: 'Region', cell: ({ region }) => region },
  { head: 'Cluster', cell: ({ clusterName }) => clusterName },
  { head: 'Status', cell: ({ status }) => <StateBadge state={status} /> },
  { head: 'GPUs', cell: (node) => countsText(countsOf([node])) },
  { head: 'Reason', cell: ({ statusReason }) => statusReason ?? '' },
];

const ROWS_PER_PAGE = 100;

/** Table alternative to the map. Rows load in portions, so that a large fleet opens fast. */
function TableView({ nodes }: Readonly<{ nodes: readonly FleetNode[] }>) {
  const [limit, setLimit] = useState(ROWS_PER_PAGE);
  if (nodes.length === 0) return <NoNodesMatch />;
  return (
    <Card flush>
      <Table caption="Nodes" columns={columns} rows={nodes.slice(0, limit)} />
      {nodes.length > limit && (
        <div className="border-line text-soft flex items-center justify-between border-t px-4 py-2 text-xs">
          Showing {limit} of {nodes.length} nodes
          <Button size="small" onClick={() => setLimit(limit + ROWS_PER_PAGE)}>
            Show more
          </Button>
        </div>
      )}
    </Card>
  );
}
