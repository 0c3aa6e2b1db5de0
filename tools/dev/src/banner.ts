import { DEMO_MODEL } from './models.ts';
import type { Demo } from './demo-file.ts';
import { DEMO_CREDIT_USD } from './seed.ts';

export interface DevAddresses {
  readonly api: string;
  readonly inference: string;
}

interface BannerContent {
  readonly addresses: DevAddresses;
  readonly demo: Demo;
  readonly withConsole: boolean;
  readonly llama: boolean;
  /** With simulated machines for live keys and a history. */
  readonly isDemo: boolean;
}

function consoleText(address: string, { email, password }: Demo): string {
  return `
  Console       ${address}/console/
  Sign in as    ${email}
  Password      ${password}

Emails are not sent: they are stored in .millrace/mail, and links in them are printed here. You can also sign up.
`;
}

/** Printed when all processes are ready: addresses, credentials and commands to try. */
export function banner({ addresses, demo, withConsole, llama, isDemo }: BannerContent): string {
  const { api: address, inference: chat } = addresses;
  return `
Millrace is ready at ${address}
${withConsole ? consoleText(address, demo) : ''}
  Organisation  ${demo.organisation}, owned by ${demo.email}, who is also an operator here
  Live key      ${demo.liveKey}
  Test key      ${demo.testKey}

Try it in another terminal. The test key rents from a mock fleet and a mock marketplace, free of charge. The machines are
simulated, but you can log in to them:

  alias millrace='npm run --silent millrace --'
  npm run --silent dev -- --key test | millrace login --api-url ${address} --inference-url ${chat} --key-stdin
  millrace offers
  millrace ssh-key add
  millrace rental create --gpu h100 --name first
  millrace ssh first
  millrace rental terminate first
  millrace market list
  millrace chat --model ${DEMO_MODEL} 'Hello!'      # a mock for the test key

${isDemo ? 'The live key pays for simulated machines with play money, from a balance with three months of history' : 'The live key has play money'}.${modelText(llama)}
It has the rights of an operator:

  npm run --silent dev -- --key live | millrace login --profile live --api-url ${address} --inference-url ${chat} --key-stdin
  millrace balance --profile live
  millrace admin --help

Use curl or any OpenAI client (base URL ${chat}/v1):

  export MILLRACE_API_KEY=$(npm run --silent dev -- --key test)
  curl ${address}/v2/me -H "Authorization: Bearer $MILLRACE_API_KEY"
  curl ${chat}/v1/models -H "Authorization: Bearer $MILLRACE_API_KEY"

${address}/docs/errors explains every error of the api. The logs of the processes are in .millrace/dev; npm run dev -- --logs
prints them here.

The keys stay the same between starts (.millrace/dev.json). ${startText(isDemo)}
Press Ctrl-C to stop.

`;
}

function modelText(llama: boolean): string {
  return llama
    ? `\nIt calls ${DEMO_MODEL}, a tiny real model. Mocks, which say so, answer for the other models.`
    : '\nIts models are mocks, which say so. For a tiny real model: npm run services -- up llama --install';
}

function startText(isDemo: boolean): string {
  return isDemo
    ? 'Start over with npm run services -- down --purge.'
    : `The organisation received ${String(DEMO_CREDIT_USD)} USD of play money, once.`;
}

/** Printed when the trial with compose is ready. */
export function trialBanner({
  addresses: { api: address, inference: chat },
  demo,
  isDemo,
}: Pick<BannerContent, 'addresses' | 'demo' | 'isDemo'>): string {
  return `
Millrace is ready at ${address}

  Console       ${address}/console/
  Sign in as    ${demo.email}
  Password      ${demo.password}

  Organisation  ${demo.organisation}, owned by ${demo.email}, who is also an operator here
  Live key      ${demo.liveKey}
  Test key      ${demo.testKey}

The machines are simulated. ${isDemo ? 'The live key pays with play money, from a balance with three months of history' : 'The live key has play money'}; the test key is free of charge.
${DEMO_MODEL} is a tiny real model. For curl or any OpenAI client, the base URL is ${chat}/v1 and the model is ${DEMO_MODEL}:

  curl ${chat}/v1/chat/completions -H 'content-type: application/json' -H 'authorization: Bearer ${demo.liveKey}' \\
    -d '{"model": "${DEMO_MODEL}", "messages": [{"role": "user", "content": "Hello!"}]}'

`;
}
