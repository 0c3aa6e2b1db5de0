import { expect, test } from 'vitest';

import { deriveSources, deriveSuite, parseAptSources, renderAptConf, renderSources } from './apt-sources.ts';

const deb822 = {
  path: '/etc/apt/sources.list.d/debian.sources',
  text: [
    'Types: deb deb-src',
    '# a comment between fields',
    'URIs: http://mirror.example/debian',
    'Suites: bookworm bookworm-updates',
    'Components: main contrib',
    'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg',
    '',
    'Types: deb',
    'URIs: http://mirror.example/debian-security',
    'Suites: bookworm-security',
    'Components: main',
  ].join('\n'),
};

const oneLine = {
  path: '/etc/apt/sources.list',
  text: [
    '# deb http://off.example/debian bookworm main',
    'deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian bookworm main non-free # note',
    'deb-src http://mirror.example/debian bookworm main',
    'deb https://third.example/apt stable main',
  ].join('\n'),
};

test('parseAptSources: reads both formats and skips comments, source packages and disabled entries', () => {
  const disabled = {
    path: 'x.sources',
    text: 'Types: deb\nURIs: http://x\nSuites: a\nComponents: main\nEnabled: no',
  };
  expect(parseAptSources([deb822, disabled]).map((source) => source.suites)).toEqual([
    ['bookworm', 'bookworm-updates'],
    ['bookworm-security'],
  ]);
  expect(parseAptSources([oneLine])).toEqual([
    {
      uris: ['http://mirror.example/debian'],
      suites: ['bookworm'],
      components: ['main', 'non-free'],
      signedBy: '/k.gpg',
    },
    { uris: ['https://third.example/apt'], suites: ['stable'], components: ['main'] },
  ]);
});

test('deriveSources: adds backports from the configured mirror with its key', () => {
  const derived = deriveSources(parseAptSources([deb822]), 'bookworm', 'bookworm-backports');
  expect(derived?.at(-1)).toEqual({
    uris: ['http://mirror.example/debian'],
    suites: ['bookworm-backports'],
    components: ['main'],
    signedBy: '/usr/share/keyrings/debian-archive-keyring.gpg',
  });
  expect(derived).toHaveLength(3);
});

test('deriveSources: leaves out third-party repositories, so a broken one cannot stop an installation', () => {
  const derived = deriveSources(parseAptSources([oneLine]), 'bookworm', null);
  expect(derived?.flatMap((source) => source.uris)).toEqual(['http://mirror.example/debian']);
});

test('deriveSources: does not add backports twice', () => {
  const with_ = { ...deb822, text: deb822.text.replace('bookworm-updates', 'bookworm-backports') };
  const derived = deriveSources(parseAptSources([with_]), 'bookworm', 'bookworm-backports');
  expect(derived?.filter((source) => source.suites.includes('bookworm-backports'))).toHaveLength(1);
});

test('deriveSuite: returns one other suite alone, for packages that are only unpacked', () => {
  expect(deriveSuite(parseAptSources([deb822]), 'bookworm', 'forky')).toEqual([
    {
      uris: ['http://mirror.example/debian'],
      suites: ['forky'],
      components: ['main'],
      signedBy: '/usr/share/keyrings/debian-archive-keyring.gpg',
    },
  ]);
});

test('deriveSources: returns null on a machine without a mirror for its release', () => {
  expect(deriveSources(parseAptSources([oneLine]), 'trixie', null)).toBeNull();
  expect(deriveSources([], 'bookworm', null)).toBeNull();
});

test('renderSources: writes sources that parse back unchanged, also with an inline key', () => {
  const key = '\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n -----END PGP PUBLIC KEY BLOCK-----';
  const sources = [
    { uris: ['http://a', 'http://b'], suites: ['s'], components: ['main'], signedBy: '/k.gpg' },
    { uris: ['http://c'], suites: ['t', 'u'], components: ['main'], signedBy: key },
  ];
  expect(parseAptSources([{ path: 'x.sources', text: renderSources(sources) }])).toEqual(sources);
});

test('renderAptConf: reads only our sources and keeps separate package lists', () => {
  const conf = renderAptConf('/cache/apt/forky');
  expect(conf).toContain('Dir::Etc::sourcelist "/cache/apt/forky/millrace.sources";');
  expect(conf).toContain('Dir::Etc::sourceparts "/dev/null";');
  expect(conf).toContain('Dir::State::lists "/cache/apt/forky/lists";');
});
