import { authCall } from '../../api/auth.ts';

/** Passkeys with the browser's own WebAuthn API, with JSON options and responses. */

export function canUsePasskeys(): boolean {
  return 'PublicKeyCredential' in globalThis && 'parseCreationOptionsFromJSON' in PublicKeyCredential;
}

function jsonOf(credential: Credential | null): unknown {
  if (!(credential instanceof PublicKeyCredential))
    throw new Error('The browser returned no passkey. Try again.');
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
  // A passkey replaces password and second factor, so the device must verify the user.
  const requestOptions = { ...publicKey, userVerification: 'required' } as const;
  const response = jsonOf(await navigator.credentials.get({ publicKey: requestOptions }));
  await authCall('POST', '/passkey/verify-authentication', { response });
}
