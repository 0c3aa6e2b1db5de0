import { useNavigate, useSearch } from '@tanstack/react-router';
import { SearchX, Store } from 'lucide-react';
import { useState, type ReactNode } from 'react';
import { useSession } from '../../api/session.tsx';
import { StateBadge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CommandHint, Id } from '../../ui/copy.tsx';
import { CheckboxField, SelectField, TextField } from '../../ui/field.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { PerHour } from '../../ui/money.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Note } from '../../ui/states.tsx';
import type { Column } from '../../ui/table.tsx';
import {
  freeGpus,
  gibibytes,
  gpuName,
  hardwareTexts,
  networkTexts,
  perHour,
  rentDisabledReason,
  type Machine,
} from './machine.ts';
import { priceLabels } from './rent-form.ts';
import { toListInput, machinesCommand, machineSorts, searchIssues, type MachineSearch } from './search.ts';
import { LinkButton } from '../../ui/link.tsx';

export function MarketplacePage() {
  const search = useSearch({ from: '/shell/inside/marketplace' });
  const { place } = useSession();
  const query = toListInput(search, place.mode);
  const pages = usePages<Machine>(
    ['marketplace', 'machines', query],
    (client, signal) => client.marketplace.list({ ...query, limit: 50 }, { signal }),
    { refetchMs: 10_000 },
  );
  return (
    <>
      <PageHeader
        title="Marketplace"
        about="Machines from suppliers at their own prices. Rent single GPUs, billed by the second."
        actions={<LinkButton to="/instances">Your instances</LinkButton>}
      />
      <Filters search={search} isTest={place.mode === 'test'} />
      {place.mode === 'test' && (
        <div className="mb-4">
          <Note>Test mode is free. The prices shown are live prices.</Note>
        </div>
      )}
      <Card flush>
        <PagedTable
          pages={pages}
          what="machines"
          caption="Marketplace machines"
          columns={columnsOf(place.mode)}
          {...(Object.keys(search).length > 0 ? noneFits : noneFree)}
        />
      </Card>
      <p className="text-soft mb-4 text-xs">
        Machines report their own hardware; network speed was measured when they joined. A supplier controls
        its host and can read your data.
      </p>
      <CommandHint command={machinesCommand(search)} />
    </>
  );
}

const lines = (words: readonly ReactNode[]): ReactNode => (
  <ul className="text-xs">
    {words.map((word, index) => (
      <li key={index}>{word}</li>
    ))}
  </ul>
);

const columnsOf = (mode: 'live' | 'test'): readonly Column<Machine>[] => [
  {
    head: 'GPUs',
    main: true,
    cell: (machine) => (
      <span className="flex flex-col">
        <span>{gpuName(machine)}</span>
        <span className="text-soft text-xs font-normal">
          {machine.hardware.gpus[0] === undefined
            ? ''
            : `${gibibytes(machine.hardware.gpus[0].ram)} each, unverified`}
        </span>
      </span>
    ),
  },
  {
    head: 'Available',
    cell: (machine) => (
      <span className="flex flex-col items-end gap-1 md:items-start">
        <span className="whitespace-nowrap">
          {freeGpus(machine)} of {machine.gpus_total}
        </span>
        {machine.status !== 'node_ready' && <StateBadge state={machine.status} />}
      </span>
    ),
  },
  { head: priceLabels(mode).gpu, right: true, cell: (machine) => <PerHour nano={perHour(machine, 1)} /> },
  { head: 'Hardware', cell: (machine) => lines(hardwareTexts(machine)) },
  { head: 'Network', cell: (machine) => lines(networkTexts(machine)) },
  {
    head: 'Location',
    cell: (machine) =>
      lines([
        machine.location.region,
        machine.supplier_id === 'platform' ? 'by the operator' : <>by {machine.supplier_id}</>,
        <Id key="id" value={machine.id} what="machine ID" />,
      ]),
  },
  { head: 'Actions', cell: (machine) => <RentLink machine={machine} /> },
];

function RentLink({ machine }: Readonly<{ machine: Machine }>) {
  const { mayNot } = useSession();
  const why = mayNot('marketplace:write') || rentDisabledReason(machine);
  if (why !== null) return <Button off={why}>Rent</Button>;
  return (
    <LinkButton
      to="/marketplace/$nodeName"
      params={{ nodeName: machine.id }}
      aria-label={`Rent ${gpuName(machine)} on ${machine.id}`}
      kind="primary"
    >
      Rent
    </LinkButton>
  );
}

const sortLabels: Readonly<Record<(typeof machineSorts)[number], string>> = {
  price: 'Lowest price',
  free: 'Most GPUs',
  memory: 'Most GPU memory',
  download: 'Fastest download',
};

type Change = { [Name in keyof MachineSearch]: MachineSearch[Name] | undefined };

function Filters({ search, isTest }: Readonly<{ search: MachineSearch; isTest: boolean }>) {
  const navigate = useNavigate();
  const issues = searchIssues(search);
  const go = (change: Change): void => {
    const chosen = Object.entries({ ...search, ...change }).filter(([, value]) => value !== undefined);
    void navigate({ to: '/marketplace', search: Object.fromEntries(chosen), replace: true });
  };
  const text = (field: 'gpu' | 'gpus' | 'max' | 'region' | 'supplier') => ({
    value: search[field] ?? '',
    onValue: (value: string) => go({ [field]: value === '' ? undefined : value }),
  });
  return (
    <div className="mb-4 flex flex-col gap-3">
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2 lg:grid-cols-3 xl:grid-cols-6">
        <DelayedTextField label="GPU model" placeholder="H100" {...text('gpu')} />
        <DelayedTextField
          label="Min available GPUs"
          placeholder="1"
          inputMode="numeric"
          error={issues.gpus}
          {...text('gpus')}
        />
        <DelayedTextField
          label="Max price per hour (USD)"
          placeholder="2.50"
          inputMode="decimal"
          error={issues.max}
          {...text('max')}
        />
        {!isTest && <DelayedTextField label="Region" placeholder="us-central-1" {...text('region')} />}
        <DelayedTextField label="Supplier" placeholder="platform" {...text('supplier')} />
        <SelectField
          label="Sort by"
          value={search.sort ?? 'price'}
          choices={machineSorts.map((value) => ({ value, label: sortLabels[value] }))}
          onValue={(sort) => go({ sort })}
        />
      </div>
      <CheckboxField
        label="Show unavailable machines"
        checked={search.all === 'yes'}
        onValue={(value) => go({ all: value ? 'yes' : undefined })}
      />
    </div>
  );
}

interface DelayedTextFieldProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly inputMode?: 'numeric' | 'decimal';
  readonly error?: string | undefined;
}

/** Applies the filter on blur or Enter, not at every keystroke. */
function DelayedTextField({ label, placeholder, value, onValue, inputMode, error }: DelayedTextFieldProps) {
  const [typed, setTyped] = useState({ from: value, text: value });
  // Show the value of the URL after back or forward.
  const text = typed.from === value ? typed.text : value;
  const take = (): void => onValue(text.trim());
  return (
    <TextField
      label={label}
      placeholder={placeholder}
      value={text}
      error={error}
      {...(inputMode === undefined ? {} : { inputMode })}
      onValue={(text) => setTyped({ from: value, text })}
      onBlur={take}
      onKeyDown={(event) => {
        if (event.key === 'Enter') take();
      }}
    />
  );
}

const noneFits = {
  icon: SearchX,
  empty: 'No machines match',
  hint: 'Remove a filter, or show unavailable machines.',
  action: (
    <LinkButton to="/marketplace" search={{}}>
      Clear filters
    </LinkButton>
  ),
};

const noneFree = {
  icon: Store,
  empty: 'No machines available',
  hint: 'Machines appear here when suppliers list them. The catalog has the operator’s own offers.',
  action: <LinkButton to="/catalog">Browse the catalog</LinkButton>,
};
