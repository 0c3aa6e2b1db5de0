import { useLocation, useNavigate } from '@tanstack/react-router';
import { Button } from '../../ui/button.tsx';
import { CheckboxField, FilterField, SelectField } from '../../ui/field.tsx';
import { parseFilters, hasActiveFilters, type Filters } from './filters.ts';
import type { FilterChoices } from './offers.ts';
import { Form } from '../../ui/form.tsx';

/** Also lists a value from the URL that no offer has, because it filters the list. */
function withChosen(values: readonly string[], chosen: string | undefined): readonly string[] {
  return chosen === undefined || values.includes(chosen) ? values : [...values, chosen];
}

export function FilterBar({ filters, choices }: Readonly<{ filters: Filters; choices: FilterChoices }>) {
  const navigate = useNavigate();
  // Visitors also see the catalog on the start page.
  const to = useLocation({ select: ({ pathname }) => (pathname === '/catalog' ? '/catalog' : '/') });
  const set = (change: Readonly<Record<string, unknown>>): void => {
    void navigate({ to, search: parseFilters({ ...filters, ...change }), replace: true });
  };
  const gpus = withChosen(choices.gpus, filters.gpu);
  const regions = withChosen(choices.regions, filters.region);
  const counts = withChosen(choices.counts.map(String), filters.count?.toString());
  return (
    <Form aria-label="Filter catalog" className="mb-4 grid grid-cols-2 items-end gap-3 md:grid-cols-5">
      <FilterField
        label="GPU"
        value={filters.gpu}
        all="Any"
        choices={gpus.map((value) => ({ value, label: value.toUpperCase() }))}
        onValue={(gpu) => set({ gpu })}
      />
      <FilterField
        label="Region"
        value={filters.region}
        all="Any"
        choices={regions}
        onValue={(region) => set({ region })}
      />
      <FilterField
        label="Machine"
        value={filters.type}
        all="Any"
        onValue={(type) => set({ type })}
        choices={[
          { value: 'virtual-machine', label: 'Virtual machine' },
          { value: 'bare-metal', label: 'Bare metal' },
        ]}
      />
      <FilterField
        label="GPU count"
        value={filters.count?.toString()}
        all="Any"
        choices={counts}
        onValue={(count) => set({ count })}
      />
      <SelectField
        label="Sort by"
        value={filters.sort ?? 'price'}
        onValue={(sort) => set({ sort })}
        choices={[
          { value: 'price', label: 'Lowest price' },
          { value: 'free', label: 'Most available' },
          { value: 'region', label: 'Region name' },
        ]}
      />
      <div className="col-span-2 flex min-h-9 flex-wrap items-center gap-x-4 gap-y-2 md:col-span-5">
        <CheckboxField
          label="Available only"
          checked={filters.available === true}
          onValue={(available) => set({ available })}
        />
        {hasActiveFilters(filters) && (
          <Button
            size="small"
            onClick={() =>
              void navigate({
                to,
                search: filters.sort === undefined ? {} : { sort: filters.sort },
                replace: true,
              })
            }
          >
            Clear filters
          </Button>
        )}
      </div>
    </Form>
  );
}
