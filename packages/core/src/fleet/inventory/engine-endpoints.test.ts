import { describe, expect, it } from 'vitest';
import { problemWithEndpoint } from './engine-endpoints.ts';

describe('problemWithEndpoint', () => {
  it.each([
    ['incus', 'https://10.0.0.1:8443'],
    ['incus', 'https://10.0.0.1:8443,https://10.0.0.2:8443'],
    ['incus', 'https://[fd00::1]:8443'],
    ['incus', 'unix:/var/lib/incus/unix.socket'],
    ['ironic', 'https://ironic.internal:6385/v1'],
    ['ironic', 'http://127.0.0.1:6385'],
    ['mock', 'mock:'],
    ['mock', 'mock://'],
    ['mock', 'mock:second'],
  ] as const)('accepts %s endpoint %s', (driver, endpoint) => {
    expect(problemWithEndpoint(driver, endpoint)).toBeNull();
  });

  it.each([
    ['incus', 'http://10.0.0.1:8443', 'must be https'],
    ['incus', 'https://root:secret@10.0.0.1:8443', 'must not contain a password'],
    ['incus', 'https://10.0.0.1:8443/?token=secret', 'must be https://host:port'],
    ['incus', 'https://10.0.0.1:8443,', 'must be https://host:port'],
    ['incus', 'unix:relative/path', 'absolute path'],
    ['incus', 'unix:/a b', 'absolute path'],
    ['incus', 'file:///etc/passwd', 'must be https'],
    ['incus', 'somewhere', 'must be https://host:port'],
    ['incus', Array.from({ length: 17 }, () => 'https://a:1').join(','), 'at most 16'],
    ['ironic', 'unix:/run/ironic', 'must be https'],
    ['ironic', 'http://10.0.0.1:6385', 'must be https'],
    ['ironic', 'http://127.0.0.1.example.com:6385', 'must be https'],
    ['mock', 'https://10.0.0.1', 'must be mock:'],
    ['mock', 'mock:\u0000', 'must be mock:'],
  ] as const)('rejects %s endpoint %j', (driver, endpoint, problem) => {
    expect(problemWithEndpoint(driver, endpoint)).toContain(problem);
  });
});
