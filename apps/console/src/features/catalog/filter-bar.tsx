import { useNavigate } from '@tanstack/react-router';
import { Button } from '../../ui/button.tsx';
import { CheckboxField, SelectField } from '../../ui/field.tsx';
import { parseFilters, hasActiveFilters, type Filters } from './filters.ts';
import type { FilterChoices } from './offers.ts';

const any = { value: '', label: 'Any' };

/** A choice that came with the address is shown even where nothing is called so: it is what hides the rest. */
function withChosen(values: readonly string[], chosen: string | undefined): readonly string[] {
  return chosen === undefined || values.includes(chosen) ? values : [...values, chosen];
}

export function FilterBar({
  filters,
  choices,
}: {
  readonly filters: Filters;
  readonly choices: FilterChoices;
}) {
  const navigate = useNavigate();
  const set = (change: Readonly<Record<string, unknown>>): void => {
    void navigate({ to: '/', search: parseFilters({ ...filters, ...change }), replace: true });
  };
  const gpus = withChosen(choices.gpus, filters.gpu);
  const regions = withChosen(choices.regions, filters.region);
  const counts = withChosen(choices.counts.map(String), filters.count?.toString());
  return (
    <form
      aria-label="Filter the catalog"
      className="mb-4 grid grid-cols-2 items-end gap-3 md:grid-cols-5"
      onSubmit={(event) => event.preventDefault()}
    >
      <SelectField
        label="GPU"
        value={filters.gpu ?? ''}
        onChange={(event) => set({ gpu: event.target.value })}
        choices={[any, ...gpus.map((value) => ({ value, label: value.toUpperCase() }))]}
      />
      <SelectField
        label="Region"
        value={filters.region ?? ''}
        onChange={(event) => set({ region: event.target.value })}
        choices={[any, ...regions.map((value) => ({ value, label: value }))]}
      />
      <SelectField
        label="Machine"
        value={filters.type ?? ''}
        onChange={(event) => set({ type: event.target.value })}
        choices={[
          any,
          { value: 'virtual-machine', label: 'Virtual machine' },
          { value: 'bare-metal', label: 'Bare metal' },
        ]}
      />
      <SelectField
        label="GPUs in it"
        value={filters.count?.toString() ?? ''}
        onChange={(event) => set({ count: event.target.value })}
        choices={[any, ...counts.map((value) => ({ value, label: value }))]}
      />
      <SelectField
        label="Order"
        value={filters.sort ?? 'price'}
        onChange={(event) => set({ sort: event.target.value })}
        choices={[
          { value: 'price', label: 'Cheapest first' },
          { value: 'free', label: 'Most free first' },
          { value: 'region', label: 'By name' },
        ]}
      />
      <div className="col-span-2 flex min-h-9 flex-wrap items-center gap-x-4 gap-y-2 md:col-span-5">
        <CheckboxField
          label="Only what is free now"
          checked={filters.available === true}
          onChange={(event) => set({ available: event.target.checked })}
        />
        {hasActiveFilters(filters) && (
          <Button
            size="small"
            onClick={() =>
              void navigate({
                to: '/',
                search: filters.sort === undefined ? {} : { sort: filters.sort },
                replace: true,
              })
            }
          >
            Clear the filters
          </Button>
        )}
      </div>
    </form>
  );
}
