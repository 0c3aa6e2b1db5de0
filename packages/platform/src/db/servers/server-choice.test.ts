import { expect, test } from 'vitest';
import { ServerChoice, type OpenConnection, type PrimaryPosition } from './server-choice.ts';

const first = { host: 'db1', port: 5432 };
const second = { host: 'db2', port: 5432 };

function at(timeline: number, system = 'one'): PrimaryPosition {
  return { system, timeline };
}

class Connection implements OpenConnection {
  isReplaced = false;

  replace(): void {
    this.isReplaced = true;
  }
}

test('a server with a higher timeline closes the connections to the earlier primary only', () => {
  const choice = new ServerChoice([first, second]);
  const [earlier, current, closed] = [new Connection(), new Connection(), new Connection()];
  choice.setPrimary(first, at(1));
  choice.opened(earlier, at(1));
  choice.opened(closed, at(1));
  choice.closed(closed);
  choice.setPrimary(second, at(2));
  choice.opened(current, at(2));
  choice.setPrimary(second, at(2));
  expect([earlier, current, closed].map(({ isReplaced }) => isReplaced)).toEqual([true, false, false]);
  expect([choice.primary, choice.current()]).toEqual([second, second]);
});

test('an old answer of an earlier primary closes no connection and changes no choice', () => {
  const choice = new ServerChoice([first, second]);
  const current = new Connection();
  choice.setPrimary(second, at(2));
  choice.opened(current, at(2));
  expect(choice.isNewer(at(1))).toBe(false);
  expect(() => choice.setPrimary(first, at(1))).toThrow('another server has replaced it as the primary');
  expect(current.isReplaced).toBe(false);
  expect([choice.primary, choice.current()]).toEqual([second, second]);
});

test('connections through two addresses of one primary remain open', () => {
  const choice = new ServerChoice([first, second]);
  const connection = new Connection();
  choice.setPrimary(first, at(3));
  choice.opened(connection, at(3));
  choice.failed(first);
  choice.setPrimary(second, at(3));
  expect(connection.isReplaced).toBe(false);
});

test('timelines of different databases are not compared, and no pool uses two databases', () => {
  const choice = new ServerChoice([first, second]);
  const connection = new Connection();
  choice.setPrimary(first, at(5));
  choice.opened(connection, at(5));
  expect(choice.isNewer(at(6, 'other'))).toBe(false);
  choice.setPrimary(second, at(1, 'other'));
  expect(connection.isReplaced).toBe(true);
});

test('the primary remains known while connections fail', () => {
  const choice = new ServerChoice([first, second]);
  expect(choice.primary).toBeNull();
  choice.setPrimary(first, at(1));
  choice.failed(first);
  expect([choice.current(), choice.primary]).toEqual([second, first]);
});
