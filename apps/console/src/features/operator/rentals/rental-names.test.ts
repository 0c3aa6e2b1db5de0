import { describe, expect, it } from 'vitest';
import { rentalName, rentalOfGpu } from './rental-names.ts';

const rentals = [
  { id: 7, name: 'train', externalId: 'a' },
  { id: 8, name: null, externalId: 'b' },
];

describe('rentalOfGpu and rentalName', () => {
  it('finds the rental of a GPU by its external ID', () => {
    expect(rentalOfGpu({ allocatedTo: 'b' }, rentals)?.id).toBe(8);
    expect(rentalOfGpu({ allocatedTo: 'c' }, rentals)).toBeUndefined();
    expect(rentalOfGpu({ allocatedTo: null }, rentals)).toBeUndefined();
  });

  it('names a rental by its name, else by its number', () => {
    expect(rentals.map(rentalName)).toEqual(['train', 'Rental 8']);
  });
});
