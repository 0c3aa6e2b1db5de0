import { expect, test } from 'vitest';
import { caddyConfig, type CaddySettings, type HostnameRoute } from './caddy-config.ts';

const settings: CaddySettings = {
  adminListen: 'unix//run/caddy/admin.sock',
  listen: ':443',
  certificateFile: '/etc/millrace/names.pem',
  keyFile: '/etc/millrace/names.key',
  certificateMark: null,
};
const frog: HostnameRoute = { name: '8080-a-b-frog.example.com', address: '203.0.113.7', port: 31_500 };
const newt: HostnameRoute = { name: '8888-a-b-newt.example.com', address: '2001:db8::7', port: 31_501 };

test('caddyConfig does not depend on the order of the names', () => {
  expect(caddyConfig(settings, [newt, frog])).toEqual(caddyConfig(settings, [frog, newt]));
  expect(caddyConfig(settings, [frog])).not.toEqual(caddyConfig(settings, [frog, newt]));
});

test('caddyConfig maps each name to its address and port and to nothing else', () => {
  const text = JSON.stringify(caddyConfig(settings, [frog, newt]));
  expect(text).toContain('{"input":"8080-a-b-frog.example.com","outputs":["203.0.113.7:31500"]}');
  expect(text).toContain('{"input":"8888-a-b-newt.example.com","outputs":["[2001:db8::7]:31501"]}');
  expect(text.match(/"dial":"[^"]*"/g)).toEqual(['"dial":"{millrace.upstream}"']);
});

test('caddyConfig keeps the admin address and makes Caddy read a renewed certificate', () => {
  const before = caddyConfig(settings, [frog]);
  expect(before).toMatchObject({ admin: { listen: 'unix//run/caddy/admin.sock' } });
  const after = caddyConfig({ ...settings, certificateMark: 'ab:cd' }, [frog]);
  expect(after).not.toEqual(before);
  expect(JSON.stringify(after)).toContain('"tags":["ab:cd"]');
});
