import { expect, test } from 'vitest';
import { parsePostgresUrl, serverName } from './server-url.ts';

test('parsePostgresUrl reads several hosts, escapes and the parameters of TLS', () => {
  const url =
    'postgres://milly:p%40ss%3A%2F@db1:5433,[2001:db8::1],db3:5434/mill%20race?sslmode=verify-full&sslrootcert=/ca.pem';
  expect(parsePostgresUrl(url)).toEqual({
    servers: [
      { host: 'db1', port: 5433 },
      { host: '2001:db8::1', port: 5432 },
      { host: 'db3', port: 5434 },
    ],
    user: 'milly',
    password: 'p@ss:/',
    database: 'mill race',
    requiresTls: true,
    rootCertificateFile: '/ca.pem',
  });
});

test('parsePostgresUrl accepts an @ in the password, as the last one ends the user', () => {
  expect(parsePostgresUrl('postgres://u:a@b@host/d')).toMatchObject({ password: 'a@b', user: 'u' });
});

test.each([
  ['postgres://u@db/d', 'db:5432'],
  ['postgres://[::1]:1/d', '[::1]:1'],
  ['postgres://u@%2Frun%2Fpostgresql/d', '/run/postgresql'],
])('serverName of %s contains no user', (url, name) => {
  expect(parsePostgresUrl(url).servers.map(serverName)).toEqual([name]);
});
