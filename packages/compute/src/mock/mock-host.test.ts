import { expect, it } from 'vitest';
import { mockBenchmark, readMockHost } from './mock-host.ts';
import { readMockLayout } from './mock-config.ts';

it('readMockHost reads the GPUs from the name of the host', () => {
  const settings = readMockHost('https://4x-rtx4090-attic.mock.example:8443');
  expect(settings).toMatchObject({ nodes: [{ name: '4x-rtx4090-attic', gpuModel: 'rtx4090', gpuCount: 4 }] });
  expect(readMockLayout(settings).nodes).toMatchObject([{ gpuModel: 'rtx4090', gpuCount: 4 }]);
});

it('readMockHost gives hosts with different names different addresses', () => {
  const addressOf = (name: string): unknown =>
    readMockHost(`https://${name}.mock.example:8443`)?.['firstAddress'];
  expect(addressOf('1x-h100-a')).not.toBe(addressOf('1x-h100-b'));
  expect(addressOf('1x-h100-a')).toBe(addressOf('1x-h100-a'));
});

it.each([
  'https://gpu.example.com:8443',
  'https://0x-h100.mock.example:8443',
  'https://17x-h100.mock.example:8443',
  'https://4x-unknown.mock.example:8443',
  'https://4x-h100.mock.example.com:8443',
  'not an address',
])('readMockHost does not treat %s as a simulated host', (endpoint) => {
  expect(readMockHost(endpoint)).toBeNull();
});

it('mockBenchmark reports the hardware of the node', () => {
  expect(mockBenchmark({ cpuCount: 96, gpuCount: 4 })).toMatchObject({
    cpu: { count: 96 },
    gpu: { count: 4 },
  });
});
