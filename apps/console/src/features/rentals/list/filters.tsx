import { useNavigate } from '@tanstack/react-router';
import { FilterField, TextField } from '../../../ui/field.tsx';
import { definedParams } from '../../../app/search-params.ts';
import { liveStatuses, rentalTypes, type RentalsSearch } from '../search.ts';

const typeLabels = { 'virtual-machine': 'Virtual machines', 'bare-metal': 'Bare metal' } as const;

/** Filters, stored in the URL. */
export function RentalFilters({ search }: Readonly<{ search: RentalsSearch }>) {
  const navigate = useNavigate();
  const set = (changes: { readonly [Name in keyof RentalsSearch]?: RentalsSearch[Name] | undefined }): void =>
    void navigate({ to: '/rentals', search: definedParams({ ...search, ...changes }), replace: true });
  return (
    <div className="mb-4 flex flex-wrap gap-3">
      <div className="min-w-40 flex-1 sm:flex-none">
        <FilterField
          label="Type"
          value={search.type}
          all="All types"
          choices={rentalTypes.map((value) => ({ value, label: typeLabels[value] }))}
          onValue={(type) => set({ type })}
        />
      </div>
      {search.view === 'history' ? (
        <>
          <TextField
            type="date"
            label="Ended from"
            value={search.from ?? ''}
            onValue={(from) => set({ from: from || undefined })}
          />
          <TextField
            type="date"
            label="Ended until"
            value={search.until ?? ''}
            onValue={(until) => set({ until: until || undefined })}
          />
        </>
      ) : (
        <div className="min-w-40 flex-1 sm:flex-none">
          <FilterField
            label="Status"
            value={search.status}
            all="All statuses"
            choices={liveStatuses}
            onValue={(status) => set({ status })}
          />
        </div>
      )}
    </div>
  );
}
