import { describe, expect, it } from 'vitest';
import { clusterNameIssue, joinCommand, suggestedClusterName } from './join-command.ts';
import { percentText } from './percent-text.ts';

describe('joinCommand', () => {
  const url = 'https://api.example.com';

  it('passes the token in the environment of join.sh', () => {
    expect(joinCommand({ token: 'mrj_abc', url, address: '203.0.113.7' })).toBe(
      'MILLRACE_JOIN_TOKEN=mrj_abc ./join.sh --url https://api.example.com --address 203.0.113.7',
    );
    expect(joinCommand({ token: 'mrj_abc', url, address: ' ' })).toContain('--address ADDRESS');
  });

  it('quotes the input, so that it cannot inject a command', () => {
    const typed = "1.2.3.4; rm -rf '/' $(id)";
    expect(joinCommand({ token: 'mrj_abc', url, address: typed })).toMatch(
      /--address '1\.2\.3\.4; rm -rf '\\''\/'\\'' \$\(id\)'$/,
    );
  });
});

describe('cluster name', () => {
  it('is suggested in a valid form', () => {
    for (const name of ['North Computing', 'Ünïcödé', '株式会社', '--', 'x'.repeat(100), '']) {
      expect(clusterNameIssue(suggestedClusterName(name)), name).toBe(false);
    }
    expect(suggestedClusterName('North Computing')).toBe('north-computing-1');
  });

  it('is rejected if the service would reject it', () => {
    for (const name of ['', '-a', 'a-', 'A', 'a b', 'x'.repeat(64)])
      expect(clusterNameIssue(name)).not.toBe(false);
  });
});

describe('shares', () => {
  it.each([
    [1, '100 %'],
    [0.9999, '99.9 %'],
    [0.9, '90 %'],
    [0.001, '0.1 %'],
    [0, '0 %'],
    [0.29, '29 %'],
  ])('percentText of %s is %s, and never 100 after a failure', (value, text) =>
    expect(percentText(value)).toBe(text),
  );
});
