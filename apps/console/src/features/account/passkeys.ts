import { authCall } from '../../api/auth.ts';

/** Passkeys by what browsers have themselves: options and answers are JSON on both sides. */

export function canUsePasskeys(): boolean {
  return 'PublicKeyCredential' in globalThis && 'parseCreationOptionsFromJSON' in PublicKeyCredential;
}

function jsonOf(credential: Credential | null): unknown {
  if (!(credential instanceof PublicKeyCredential)) throw new Error('The browser gave no passkey.');
  return credential.toJSON();
}

export async function addPasskey(name: string): Promise<void> {
  const options = await authCall<PublicKeyCredentialCreationOptionsJSON>(
    'GET',
    `/passkey/generate-register-options?name=${encodeURIComponent(name)}`,
  );
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const response = jsonOf(await navigator.credentials.create({ publicKey }));
  await authCall('POST', '/passkey/verify-registration', { response, name });
}

export async function signInWithPasskey(): Promise<void> {
  const options = await authCall<PublicKeyCredentialRequestOptionsJSON>(
    'GET',
    '/passkey/generate-authenticate-options',
  );
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  // It takes the place of a password and a second factor, so the device asks who it is.
  const requestOptions = { ...publicKey, userVerification: 'required' } as const;
  const response = jsonOf(await navigator.credentials.get({ publicKey: requestOptions }));
  await authCall('POST', '/passkey/verify-authentication', { response });
}
