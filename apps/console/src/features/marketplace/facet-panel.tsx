import { usdText } from '@millrace/sdk/text';
import { SlidersHorizontal } from 'lucide-react';
import { useId, useState, type ReactNode } from 'react';
import { Button } from '../../ui/button.tsx';
import { CheckboxField, FilterField, TextField } from '../../ui/field.tsx';
import { LinkButton } from '../../ui/link.tsx';
import { withChosen, type FacetValue, type Facets } from './facets.ts';
import { supplierName } from './machine.ts';
import { listParam, searchIssues, toggleInList, type MachineSearch } from './search.ts';

export type SearchChange = { [Name in keyof MachineSearch]?: MachineSearch[Name] | undefined };

interface FacetPanelProps {
  readonly search: MachineSearch;
  readonly facets: Facets;
  /** Machines of test mode are in one region. */
  readonly isTest: boolean;
  readonly onChange: (change: SearchChange) => void;
}

/** Filters with the values that machines have. Narrow screens show them on demand. */
export function FacetPanel({ search, facets, isTest, onChange }: FacetPanelProps) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const isFiltered = Object.keys(search).some((name) => name !== 'sort');
  return (
    <div>
      <Button
        className="mb-3 w-full lg:hidden"
        icon={<SlidersHorizontal aria-hidden className="size-4" />}
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        {isOpen ? 'Hide filters' : 'Filters'}
      </Button>
      <div
        id={id}
        role="group"
        aria-label="Filters"
        className={`flex-col gap-4 lg:flex ${isOpen ? 'flex' : 'hidden'}`}
      >
        <ListFacet
          title="GPU type"
          values={facets.gpus}
          chosen={listParam(search.gpu)}
          onToggle={(value) => onChange({ gpu: toggleInList(search.gpu, value) })}
        />
        <FilterField
          label="GPU count"
          all="Any"
          value={search.gpus}
          choices={countChoices(facets.gpuCounts, search.gpus)}
          onValue={(gpus) => onChange({ gpus })}
        />
        {!isTest && (
          <ListFacet
            title="Region"
            values={facets.regions}
            chosen={listParam(search.region)}
            onToggle={(value) => onChange({ region: toggleInList(search.region, value) })}
          />
        )}
        <PriceRange search={search} prices={facets.prices} onChange={onChange} />
        <ListFacet
          title="Supplier"
          values={facets.suppliers}
          labelOf={supplierName}
          chosen={listParam(search.supplier)}
          onToggle={(value) => onChange({ supplier: toggleInList(search.supplier, value) })}
        />
        <CheckboxField
          label="Show unavailable machines"
          checked={search.all === 'yes'}
          onValue={(value) => onChange({ all: value ? 'yes' : undefined })}
        />
        {isFiltered && (
          <LinkButton to="/marketplace" search={search.sort === undefined ? {} : { sort: search.sort }}>
            Clear filters
          </LinkButton>
        )}
      </div>
    </div>
  );
}

function countChoices(counts: readonly number[], chosen: string | undefined) {
  const values = counts.map(String);
  const all = chosen === undefined || values.includes(chosen) ? values : [...values, chosen];
  return all.map((value) => ({ value, label: value === '1' ? '1 or more' : `${value} or more` }));
}

function Group({ title, children }: Readonly<{ title: string; children: ReactNode }>) {
  return (
    <fieldset className="flex min-w-0 flex-col gap-1">
      <legend className="mb-1 font-medium">{title}</legend>
      {children}
    </fieldset>
  );
}

/** Longer lists would push the other filters off the screen. */
const SHOWN_VALUES = 6;

interface ListFacetProps {
  readonly title: string;
  readonly values: readonly FacetValue[];
  readonly chosen: readonly string[];
  readonly labelOf?: (value: string) => string;
  readonly onToggle: (value: string) => void;
}

function ListFacet({ title, values, chosen, labelOf = (value) => value, onToggle }: ListFacetProps) {
  const [isWhole, setWhole] = useState(false);
  const all = withChosen(values, chosen);
  const shown = all.filter(({ value }, index) => isWhole || index < SHOWN_VALUES || chosen.includes(value));
  // One value that every machine has is no choice.
  if (all.length <= 1 && chosen.length === 0) return null;
  return (
    <Group title={title}>
      {shown.map(({ value, machineCount }) => (
        <CheckboxField
          key={value}
          label={`${labelOf(value)} (${String(machineCount)})`}
          checked={chosen.includes(value)}
          onValue={() => onToggle(value)}
        />
      ))}
      {shown.length < all.length && (
        <Button size="small" kind="quiet" className="self-start" onClick={() => setWhole(true)}>
          {`Show all ${String(all.length)}`}
        </Button>
      )}
    </Group>
  );
}

function PriceRange({
  search,
  prices,
  onChange,
}: Readonly<{
  search: MachineSearch;
  prices: Facets['prices'];
  onChange: (change: SearchChange) => void;
}>) {
  const issues = searchIssues(search);
  return (
    <Group title="Price per GPU-hour (USD)">
      {prices !== null && (
        <p className="text-soft text-xs">
          {usdText(prices.lowest)} to {usdText(prices.highest)}
        </p>
      )}
      <div className="grid grid-cols-2 gap-2">
        {(['min', 'max'] as const).map((field) => (
          <DelayedTextField
            key={field}
            label={field === 'min' ? 'Lowest' : 'Highest'}
            value={search[field] ?? ''}
            error={issues[field]}
            onValue={(value) => onChange({ [field]: value === '' ? undefined : value })}
          />
        ))}
      </div>
    </Group>
  );
}

interface DelayedTextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly error?: string | undefined;
}

/** Applies the filter on blur or Enter, not at every keystroke. */
function DelayedTextField({ label, value, onValue, error }: DelayedTextFieldProps) {
  const [typed, setTyped] = useState({ from: value, text: value });
  // Show the value of the URL after back or forward.
  const text = typed.from === value ? typed.text : value;
  const take = (): void => onValue(text.trim());
  return (
    <TextField
      label={label}
      value={text}
      error={error}
      inputMode="decimal"
      onValue={(text) => setTyped({ from: value, text })}
      onBlur={take}
      onKeyDown={(event) => {
        if (event.key === 'Enter') take();
      }}
    />
  );
}
