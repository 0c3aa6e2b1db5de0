import { useNavigate } from '@tanstack/react-router';
import { SelectField, TextField } from '../../../ui/field.tsx';
import { definedParams } from '../../../app/search-params.ts';
import { liveStatuses, rentalTypes, type RentalsSearch } from '../search.ts';

const typeLabels = { 'virtual-machine': 'Virtual machines', 'bare-metal': 'Bare metal' } as const;

/** What narrows the list. It is in the URL at once, so a reload and a shared link show the same. */
export function RentalFilters({ search }: { readonly search: RentalsSearch }) {
  const navigate = useNavigate();
  const set = (changes: { readonly [Name in keyof RentalsSearch]?: RentalsSearch[Name] | undefined }): void =>
    void navigate({ to: '/rentals', search: definedParams({ ...search, ...changes }), replace: true });
  return (
    <div className="mb-4 flex flex-wrap gap-3">
      <div className="min-w-40 flex-1 sm:flex-none">
        <SelectField
          label="Type"
          value={search.type ?? ''}
          onChange={({ target }) => set({ type: rentalTypes.find((type) => type === target.value) })}
          choices={[
            { value: '', label: 'Both types' },
            ...rentalTypes.map((value) => ({ value, label: typeLabels[value] })),
          ]}
        />
      </div>
      {search.view === 'history' ? (
        <>
          <TextField
            type="date"
            label="Ended from"
            value={search.from ?? ''}
            onChange={({ target }) => set({ from: target.value === '' ? undefined : target.value })}
          />
          <TextField
            type="date"
            label="Ended until"
            value={search.until ?? ''}
            onChange={({ target }) => set({ until: target.value === '' ? undefined : target.value })}
          />
        </>
      ) : (
        <div className="min-w-40 flex-1 sm:flex-none">
          <SelectField
            label="State"
            value={search.status ?? ''}
            onChange={({ target }) => set({ status: liveStatuses.find((status) => status === target.value) })}
            choices={[
              { value: '', label: 'Every state' },
              ...liveStatuses.map((value) => ({ value, label: value })),
            ]}
          />
        </div>
      )}
    </div>
  );
}
