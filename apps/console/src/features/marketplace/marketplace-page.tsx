import { useNavigate, useSearch } from '@tanstack/react-router';
import { SearchX, Store } from 'lucide-react';
import { useMemo } from 'react';
import { useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { SelectField } from '../../ui/field.tsx';
import { LinkButton } from '../../ui/link.tsx';
import { usePages } from '../../ui/list.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { TableSkeleton } from '../../ui/skeleton.tsx';
import { EmptyState, Note, Problem } from '../../ui/states.tsx';
import { definedParams } from '../../app/search-params.ts';
import { FacetPanel, type SearchChange } from './facet-panel.tsx';
import { facetsOf } from './facets.ts';
import { GroupCard } from './group-card.tsx';
import { groupMachines } from './groups.ts';
import type { Machine } from './machine.ts';
import { machinesCommand, machineSorts, toListInput, type MachineSearch } from './search.ts';

/** Limit of the API. Filters offer the values of this many machines, the cheapest ones. */
const MACHINES_MAX = 1_000;
const PAGE_SIZE = 200;

export function MarketplacePage() {
  const search = useSearch({ from: '/shell/inside/marketplace' });
  const { place } = useSession();
  const navigate = useNavigate();
  const isTest = place.mode === 'test';
  const facets = useFacets(search.all);
  const change = (changes: SearchChange): void =>
    void navigate({ to: '/marketplace', search: definedParams({ ...search, ...changes }), replace: true });
  return (
    <>
      <PageHeader
        title="Marketplace"
        about="GPUs of suppliers, at their own prices, billed by the second. The machines in the catalog are the operator's."
        actions={<LinkButton to="/instances">Your instances</LinkButton>}
      />
      <div className="mb-4 flex flex-col gap-2">
        <Note tone="warn">
          A supplier controls its host and can read your data. Unverified hardware is what the host reports.
        </Note>
        {isTest && <Note>Test mode is free; the prices shown are live prices.</Note>}
      </div>
      <div className="grid gap-x-6 lg:grid-cols-[14rem_minmax(0,1fr)]">
        <FacetPanel search={search} facets={facets} isTest={isTest} onChange={change} />
        <div className="min-w-0">
          <Machines
            search={search}
            hasPerformance={facets.hasPerformance}
            onSort={(sort) => change({ sort })}
          />
          <CommandHint command={machinesCommand(search)} />
        </div>
      </div>
    </>
  );
}

/** Of all machines, so that choosing one value does not hide the others. */
function useFacets(all: MachineSearch['all']) {
  const { place } = useSession();
  const query = toListInput(definedParams({ all }), place.mode);
  const { data } = useApiQuery(
    ['marketplace', 'facets', query],
    async (client, signal) => {
      const { items } = await client.marketplace.list({ ...query, limit: MACHINES_MAX }, { signal });
      return facetsOf([...items]);
    },
    { refetchMs: 60_000 },
  );
  return data ?? facetsOf([]);
}

const sortLabels: Readonly<Record<(typeof machineSorts)[number], string>> = {
  price: 'Lowest price',
  value: 'Most TFLOPS for the price',
  free: 'Most GPUs',
  memory: 'Most GPU memory',
  download: 'Fastest download',
};

interface MachinesProps {
  readonly search: MachineSearch;
  readonly hasPerformance: boolean;
  readonly onSort: (sort: NonNullable<MachineSearch['sort']>) => void;
}

function Machines({ search, hasPerformance, onSort }: MachinesProps) {
  const { place } = useSession();
  const query = toListInput(search, place.mode);
  const { sort = 'price' } = search;
  const pages = usePages<Machine>(
    ['marketplace', 'machines', sort === 'value', query],
    (client, signal) =>
      client.marketplace.list({ ...query, limit: sort === 'value' ? MACHINES_MAX : PAGE_SIZE }, { signal }),
    { refetchMs: 10_000 },
  );
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = pages;
  const groups = useMemo(
    () => groupMachines([...(data?.items ?? [])], sort === 'value' ? 'value' : 'listed'),
    [data, sort],
  );
  const machineCount = groups.reduce((sum, group) => sum + group.machineCount, 0);
  // Without measurements, sorting by performance has no effect.
  const sorts = machineSorts.filter((each) => each !== 'value' || hasPerformance || sort === 'value');
  return (
    <>
      <div className="mb-3 flex flex-wrap items-end justify-between gap-3">
        <p role="status" className="text-soft">
          {data !== undefined &&
            `${machineCount === 1 ? '1 machine' : `${String(machineCount)} machines`}${hasNextPage ? ', more available' : ''}`}
        </p>
        <SelectField
          label="Sort by"
          value={sort}
          choices={sorts.map((value) => ({ value, label: sortLabels[value] }))}
          onValue={onSort}
        />
      </div>
      {error !== null && (
        <div className="mb-4">
          <Problem error={error} doing="load the machines" retry={() => void refetch()} />
        </div>
      )}
      {data === undefined && error === null && <TableSkeleton what="machines" columns={6} />}
      {data !== undefined && groups.length === 0 && <NoMachines search={search} />}
      {groups.map((group) => (
        <GroupCard key={group.id} group={group} mode={place.mode} />
      ))}
      {hasNextPage && (
        <div className="mb-4">
          <Button busy={isFetchingNextPage && 'Loading more…'} onClick={() => void fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </>
  );
}

function NoMachines({ search }: Readonly<{ search: MachineSearch }>) {
  const isFiltered = Object.keys(search).some((name) => name !== 'sort');
  return (
    <Card>
      {isFiltered ? (
        <EmptyState
          icon={SearchX}
          title="No machines match"
          action={
            <LinkButton to="/marketplace" search={{}}>
              Clear filters
            </LinkButton>
          }
        >
          Remove a filter, or show unavailable machines.
        </EmptyState>
      ) : (
        <EmptyState
          icon={Store}
          title="No machines available"
          action={<LinkButton to="/catalog">Browse the catalog</LinkButton>}
        >
          Machines appear here when suppliers list them. The catalog has the operator’s own offers.
        </EmptyState>
      )}
    </Card>
  );
}
