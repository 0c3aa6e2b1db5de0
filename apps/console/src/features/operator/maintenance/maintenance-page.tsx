import { getRouteApi } from '@tanstack/react-router';
import { SearchX } from 'lucide-react';
import { useState } from 'react';
import { useApiQuery } from '../../../api/queries.ts';
import { CommandHint } from '../../../ui/copy.tsx';
import { CheckboxField, FilterField, TextField } from '../../../ui/field.tsx';
import { Card, PageHeader } from '../../../ui/page.tsx';
import { EmptyState, QueryView } from '../../../ui/states.tsx';
import { filterNodes, statusText, type FleetNode } from '../common/fleet-nodes.ts';
import { AnnounceButton, WindowTable } from './maintenance-windows.tsx';
import { operatorPage } from '../common/operator-page.tsx';
import { maintenanceStatuses } from '../common/search-params.ts';
import { TextLink } from '../../../ui/link.tsx';

const route = getRouteApi('/shell/inside/operator/maintenance');

export const MaintenancePage = operatorPage('Maintenance', Maintenance);

function Maintenance() {
  const { status, node } = route.useSearch();
  const navigate = route.useNavigate();
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
          filter={{
            ...(status === undefined ? {} : { status }),
            ...(node === undefined ? {} : { nodeId: node }),
          }}
        />
      </Card>
      <NodeChoice />
      <CommandHint command="millrace admin maintenance list" />
    </>
  );
}

const shownMax = 50;

function NodeChoice() {
  const [find, setFind] = useState('');
  const [picked, setPicked] = useState<ReadonlyMap<string, FleetNode>>(new Map());
  const nodes = useApiQuery(['admin', 'nodes'], (client, signal) =>
    client.admin.nodes.list({ limit: 200 }, { signal }).all(),
  );
  const toggle = (node: FleetNode): void => {
    const next = new Map(picked);
    if (!next.delete(node.id)) next.set(node.id, node);
    setPicked(next);
  };
  return (
    <Card
      title="Announce maintenance"
      about={`${String(picked.size)} nodes selected`}
      actions={<AnnounceButton nodes={[...picked.values()]} onDone={() => setPicked(new Map())} />}
    >
      <TextField
        label="Search nodes"
        type="search"
        placeholder="name, cluster or id"
        value={find}
        onValue={setFind}
      />
      <QueryView query={nodes} what="nodes">
        {(all) => {
          const found = filterNodes(all, { find });
          if (found.length === 0) return <EmptyState icon={SearchX} title="No nodes match" />;
          return (
            <>
              <ul className="mt-3 grid gap-2 sm:grid-cols-2 lg:grid-cols-3">
                {found.slice(0, shownMax).map((node) => (
                  <li key={node.id}>
                    <CheckboxField
                      label={node.name}
                      hint={`${node.region}, ${node.clusterName}, ${statusText(node.status)}`}
                      checked={picked.has(node.id)}
                      onValue={() => toggle(node)}
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
        }}
      </QueryView>
    </Card>
  );
}
