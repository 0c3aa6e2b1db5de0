import { expect, test } from 'vitest';
import { actionChoices, actionLabel, resourceLabel } from './actions.ts';

test('actionLabel makes words of an action', () => {
  expect(actionLabel('key.created')).toBe('API key created');
  expect(actionLabel('rental.stop')).toBe('Rental stopped');
  expect(resourceLabel('ssh-public-key')).toBe('SSH key');
  expect(actionLabel('volume.written_off')).toBe('Volume written off');
  expect(actionLabel('webhook.secret_rotated')).toBe('Webhook secret rotated');
});

test('actionChoices are sorted, unique, and contain the action of the URL', () => {
  const labels = actionChoices('node.drained').map(({ label }) => label);
  expect(labels).toContain('Node drained');
  expect(labels).toEqual(labels.toSorted((one, other) => one.localeCompare(other)));
  expect(new Set(labels).size).toBe(labels.length);
  expect(actionChoices('key.created')).toHaveLength(actionChoices(undefined).length);
});
