import { contract, operationsOf } from '@millrace/contract';
import { inputFieldsOf, readUncallable, staleFiles } from '@millrace/publish';
import { expect, test } from 'vitest';
import { namespaces } from './namespaces.ts';

interface Words {
  readonly [word: string]: string | Words;
}

function idsIn(words: Words): readonly string[] {
  return Object.values(words).flatMap((value) => (typeof value === 'string' ? [value] : idsIn(value)));
}

test('every operation of the contract has exactly one noun and verb, or a reason why not', () => {
  const uncallable = Object.keys(readUncallable());
  const reached = [...idsIn(namespaces), ...uncallable].toSorted();
  expect(reached).toEqual(
    operationsOf(contract)
      .map(({ id }) => id)
      .toSorted(),
  );
});

test('the list of operations without a method only shrinks', () => {
  expect(['receiveStripeEvent', 'supplierStartEnrolment']).toEqual(
    expect.arrayContaining(Object.keys(readUncallable())),
  );
});

test('no operation has two fields with the same name, so that one input object can contain all', () => {
  const twice = operationsOf(contract).flatMap((operation) => {
    const fields = inputFieldsOf(operation);
    return fields
      .filter((field, at) => fields.indexOf(field) !== at)
      .map((field) => `${operation.id}.${field}`);
  });
  expect(twice).toEqual([]);
});

test('the generated files are up to date with the contract (npm run sdk)', () => {
  expect(staleFiles()).toEqual([]);
});
