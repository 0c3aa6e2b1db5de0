import { describe, expect, it } from 'vitest';
import { clusterNameIssue, joinCommand, suggestedClusterName } from './join-command.ts';
import { percentText } from './percent-text.ts';

describe('the command that lets a host join', () => {
  const url = 'https://api.example.com';

  it('is what join.sh takes, with the token in its environment', () => {
    expect(joinCommand({ token: 'mrj_abc', url, address: '203.0.113.7' })).toBe(
      'MILLRACE_JOIN_TOKEN=mrj_abc ./join.sh --url https://api.example.com --address 203.0.113.7',
    );
    expect(joinCommand({ token: 'mrj_abc', url, address: ' ' })).toContain('--address ADDRESS');
  });

  it('lets nothing that was typed become a command', () => {
    const typed = "1.2.3.4; rm -rf '/' $(id)";
    expect(joinCommand({ token: 'mrj_abc', url, address: typed })).toMatch(
      /--address '1\.2\.3\.4; rm -rf '\\''\/'\\'' \$\(id\)'$/,
    );
  });
});

describe('the name of a cluster', () => {
  it('that is proposed always fits the rule', () => {
    for (const name of ['North Computing', 'Ünïcödé', '株式会社', '--', 'x'.repeat(100), '']) {
      expect(clusterNameIssue(suggestedClusterName(name)), name).toBe(false);
    }
    expect(suggestedClusterName('North Computing')).toBe('north-computing-1');
  });

  it('is refused where the service would refuse it', () => {
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
  ])('%s is %s: what failed once is never 100', (value, text) => expect(percentText(value)).toBe(text));
});
