import { describe, expect, it } from 'vitest';
import { chooseProfile, DEFAULT_API_URL, profilesPath, type ProfileStore } from './profiles.ts';

const store: ProfileStore = {
  current: 'work',
  profiles: {
    work: {
      apiUrl: 'https://api.work.example',
      inferenceUrl: 'https://models.work.example',
      apiKey: 'mr_work',
    },
    home: { apiUrl: 'https://api.home.example', apiKey: 'mr_home' },
  },
};

describe('chooseProfile', () => {
  it('uses the current profile by default', () => {
    expect(chooseProfile(store, {}, {})).toEqual({
      name: 'work',
      apiUrl: 'https://api.work.example',
      isAddressNamed: true,
      inferenceUrl: 'https://models.work.example',
      apiKey: 'mr_work',
      keyFrom: 'profile',
      isStored: true,
    });
  });

  it('prefers flags to the environment to the profile', () => {
    const env = { MILLRACE_PROFILE: 'work', MILLRACE_API_KEY: 'mr_env' };
    expect(chooseProfile(store, env, { profile: 'home' })).toMatchObject({
      name: 'home',
      apiKey: 'mr_env',
      apiUrl: 'https://api.home.example',
      keyFrom: 'environment',
    });
    expect(chooseProfile(store, { MILLRACE_PROFILE: 'home' }, {}).apiKey).toBe('mr_home');
  });

  it('never sends the key of a profile to another address', () => {
    for (const chosen of [
      chooseProfile(store, {}, { apiUrl: 'https://evil.example' }),
      chooseProfile(store, { MILLRACE_API_URL: 'http://api.work.example' }, {}),
      chooseProfile(store, { MILLRACE_API_URL: 'https://api.work.example:8443' }, {}),
    ]) {
      expect(chosen).toMatchObject({ apiKey: undefined, keyFrom: 'nowhere' });
      expect(chosen.inferenceUrl).toBe(chosen.apiUrl);
    }
  });

  it('never sends the key of a profile to an inference gateway at another address', () => {
    const profile = chooseProfile(store, { MILLRACE_INFERENCE_URL: 'https://evil.example' }, {});
    expect(profile).toMatchObject({ apiKey: undefined, keyFrom: 'nowhere' });
    for (const own of ['https://models.work.example/v0', 'https://api.work.example']) {
      expect(chooseProfile(store, { MILLRACE_INFERENCE_URL: own }, {})).toMatchObject({
        apiKey: 'mr_work',
        inferenceUrl: own,
      });
    }
  });

  it('uses the local installation without a key if there is no profile', () => {
    const empty = { current: 'default', profiles: {} };
    expect(chooseProfile(empty, { MILLRACE_API_KEY: ' ' }, {})).toEqual({
      name: 'default',
      apiUrl: DEFAULT_API_URL,
      isAddressNamed: false,
      inferenceUrl: DEFAULT_API_URL,
      apiKey: undefined,
      keyFrom: 'nowhere',
      isStored: false,
    });
    expect(chooseProfile(empty, {}, { profile: 'constructor' }).apiKey).toBeUndefined();
  });

  it('refuses an invalid address', () => {
    expect(() => chooseProfile(store, {}, { apiUrl: 'api.example.com' })).toThrow(/./);
    expect(() => chooseProfile(store, { MILLRACE_API_URL: 'file:///etc/passwd' }, {})).toThrow(/./);
    for (const more of ['?a=b', '#a', '?', '#']) {
      expect(() => chooseProfile(store, {}, { apiUrl: `https://api.example.com/${more}` })).toThrow(/./);
    }
    expect(() => chooseProfile(store, {}, { apiUrl: 'https://me:hunter2@api.example.com' })).toThrow(
      expect.objectContaining({ why: expect.not.stringContaining('hunter2') as string }),
    );
  });
});

it('profilesPath returns the settings folder of the operating system', () => {
  expect(profilesPath({ env: {}, home: '/h', platform: 'linux' })).toBe('/h/.config/millrace/profiles.json');
  expect(profilesPath({ env: { XDG_CONFIG_HOME: '/x' }, home: '/h', platform: 'linux' })).toBe(
    '/x/millrace/profiles.json',
  );
});
