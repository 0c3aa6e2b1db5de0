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

test('every operation of the contract has exactly one noun and verb, but for those with a reason', () => {
  const uncallable = Object.keys(readUncallable());
  const reached = [...idsIn(namespaces), ...uncallable].toSorted();
  expect(reached).toEqual(
    operationsOf(contract)
      .map(({ id }) => id)
      .toSorted(),
  );
});

test('the list of operations that no client calls only shrinks', () => {
  expect(['receiveStripeEvent', 'supplierStartEnrolment']).toEqual(
    expect.arrayContaining(Object.keys(readUncallable())),
  );
});

test('no operation has two fields of one name, so that one input object holds them all', () => {
  const twice = operationsOf(contract).flatMap((operation) => {
    const fields = inputFieldsOf(operation);
    return fields
      .filter((field, at) => fields.indexOf(field) !== at)
      .map((field) => `${operation.id}.${field}`);
  });
  expect(twice).toEqual([]);
});

test('the generated files are what the contract says; npm run sdk writes them', () => {
  expect(staleFiles()).toEqual([]);
});
