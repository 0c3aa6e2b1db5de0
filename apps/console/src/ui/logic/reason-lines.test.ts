import { expect, it } from 'vitest';
import { reasonLines } from './reason-lines.ts';

const denied = 'Your role lacks the permission.';
const reasons = [
  { key: '1', label: 'Edit', why: denied },
  { key: '2', label: 'Delete', why: 'Detach it first.' },
  { key: '3', label: 'Disable', why: denied },
  { key: '4', label: 'Edit', why: denied },
];

it('reasonLines names the buttons that share a reason, each once', () => {
  expect(reasonLines(reasons, { named: true })).toEqual([
    { why: denied, text: `Edit, Disable: ${denied}` },
    { why: 'Detach it first.', text: 'Delete: Detach it first.' },
  ]);
});

it('reasonLines shows only the reason without names, or for a button without a label', () => {
  expect(reasonLines(reasons.slice(1, 2), { named: false })[0]?.text).toBe('Detach it first.');
  expect(reasonLines([{ key: '5', label: '', why: denied }], { named: true })[0]?.text).toBe(denied);
});
