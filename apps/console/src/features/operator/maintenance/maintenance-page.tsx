import { getRouteApi } from '@tanstack/react-router';
import { SearchX } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useApiQuery } from '../../../api/queries.ts';
import { Button } from '../../../ui/button.tsx';
import { CommandHint } from '../../../ui/copy.tsx';
import { CheckboxField, FilterField, TextField } from '../../../ui/field.tsx';
import { Card, PageHeader } from '../../../ui/page.tsx';
import { EmptyState, QueryView } from '../../../ui/states.tsx';
import {
  fleetChoices,
  filterNodes,
  statusText,
  type FleetFilter,
  type FleetNode,
} from '../common/fleet-nodes.ts';
import { AnnounceButton, WindowTable } from './maintenance-windows.tsx';
import { operatorPage } from '../common/operator-page.tsx';
import { maintenanceStatuses } from '../common/search-params.ts';
import { TextLink } from '../../../ui/link.tsx';

const route = getRouteApi('/shell/inside/operator/maintenance');

export const MaintenancePage = operatorPage('Maintenance', Maintenance);

function useNodes() {
  return useApiQuery(['admin', 'nodes'], (client, signal) =>
    client.admin.nodes.list({ limit: 200 }, { signal }).all(),
  );
}

function Maintenance() {
  const { status, node } = route.useSearch();
  const navigate = route.useNavigate();
  const nodes = useNodes();
  const names = useMemo(() => new Map(nodes.data?.map(({ id, name }) => [id, name])), [nodes.data]);
  return (
    <>
      <PageHeader
        title="Maintenance"
        back={<TextLink to="/operator/fleet">Fleet</TextLink>}
        about="Planned downtime of nodes. Tenants are notified in advance, and downtime is not billed."
      />
      <Card
        title="Maintenance windows"
        flush
        actions={
          <FilterField
            label="Status"
            hideLabel
            value={status}
            all="All statuses"
            choices={maintenanceStatuses.map((value) => ({ value, label: value.replaceAll('_', ' ') }))}
            onValue={(next) => void navigate({ search: (before) => ({ ...before, status: next }) })}
          />
        }
      >
        <WindowTable
          names={nodes.isPending ? undefined : names}
          filter={{
            ...(status === undefined ? {} : { status }),
            ...(node === undefined ? {} : { nodeId: node }),
          }}
        />
      </Card>
      <NodeChoice nodes={nodes} />
      <CommandHint command="millrace admin maintenance list" />
    </>
  );
}

const shownMax = 50;

function NodeChoice({ nodes }: Readonly<{ nodes: ReturnType<typeof useNodes> }>) {
  const [filter, setFilter] = useState<FleetFilter>({});
  const [picked, setPicked] = useState<ReadonlyMap<string, FleetNode>>(new Map());
  const toggle = (node: FleetNode): void => {
    const next = new Map(picked);
    if (!next.delete(node.id)) next.set(node.id, node);
    setPicked(next);
  };
  return (
    <Card
      title="Announce maintenance"
      about={picked.size === 1 ? '1 node selected' : `${String(picked.size)} nodes selected`}
      actions={<AnnounceButton nodes={[...picked.values()]} onDone={() => setPicked(new Map())} />}
    >
      <div className="grid gap-3 sm:grid-cols-2">
        <TextField
          label="Search nodes"
          type="search"
          placeholder="name, cluster or id"
          value={filter.find ?? ''}
          onValue={(find) => setFilter((before) => ({ ...before, find }))}
        />
        <FilterField
          label="Region"
          value={filter.region}
          all="All regions"
          choices={fleetChoices(nodes.data ?? []).regions.map((value) => ({ value, label: value }))}
          onValue={(region) => setFilter((before) => ({ ...before, region }))}
        />
      </div>
      <QueryView query={nodes} what="nodes">
        {(all) => (
          <FoundNodes
            found={filterNodes(all, filter)}
            picked={picked}
            onToggle={toggle}
            onPick={(found) =>
              setPicked(new Map([...picked, ...found.map((node) => [node.id, node] as const)]))
            }
            onClear={() => setPicked(new Map())}
          />
        )}
      </QueryView>
    </Card>
  );
}

interface FoundNodesProps {
  readonly found: readonly FleetNode[];
  readonly picked: ReadonlyMap<string, FleetNode>;
  readonly onToggle: (node: FleetNode) => void;
  readonly onPick: (nodes: readonly FleetNode[]) => void;
  readonly onClear: () => void;
}

function FoundNodes({ found, picked, onToggle, onPick, onClear }: FoundNodesProps) {
  if (found.length === 0) return <EmptyState icon={SearchX} title="No nodes match" />;
  const areAllPicked = found.every(({ id }) => picked.has(id));
  return (
    <>
      <div className="mt-3 flex flex-wrap gap-2">
        <Button
          size="small"
          off={areAllPicked && 'All of these nodes are selected.'}
          onClick={() => onPick(found)}
        >
          {found.length === 1 ? 'Select 1 node' : `Select all ${String(found.length)} nodes`}
        </Button>
        <Button size="small" off={picked.size === 0 && 'No node is selected.'} onClick={onClear}>
          Clear selection
        </Button>
      </div>
      <ul className="mt-3 grid gap-2 sm:grid-cols-2 lg:grid-cols-3">
        {found.slice(0, shownMax).map((node) => (
          <li key={node.id}>
            <CheckboxField
              label={node.name}
              hint={`${node.region}, ${node.clusterName}, ${statusText(node.status)}`}
              checked={picked.has(node.id)}
              onValue={() => onToggle(node)}
            />
          </li>
        ))}
      </ul>
      {found.length > shownMax && (
        <p className="text-soft mt-2 text-xs">
          Showing {shownMax} of {found.length}. Type more of the name to narrow the list.
        </p>
      )}
    </>
  );
}
