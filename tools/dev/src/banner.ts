import { DEMO_MODEL } from './models.ts';
import { DEMO_CREDIT_USD, type Demo } from './seed.ts';

export interface DevAddresses {
  readonly api: string;
  readonly inference: string;
}

interface BannerContent {
  readonly addresses: DevAddresses;
  readonly demo: Demo;
  readonly withConsole: boolean;
  readonly llama: boolean;
}

function consoleText(address: string, { email, password }: Demo): string {
  return `
  Console       ${address}/console/
  Sign in as    ${email}
  Password      ${password}

The console's mail is not sent: it is kept in .millrace/mail, and its links are printed here. You can also sign up.
`;
}

/** Shown once everything is ready: where it is, how to sign in, and commands to try. */
export function banner({ addresses, demo, withConsole, llama }: BannerContent): string {
  const { api: address, inference: chat } = addresses;
  return `
Millrace is ready at ${address}
${withConsole ? consoleText(address, demo) : ''}
  Organisation  ${demo.organisation}, owned by ${demo.email}, who is also an operator here
  Live key      ${demo.liveKey}
  Test key      ${demo.testKey}

Try it, in another terminal. The test key rents from a mock fleet and a mock marketplace, for nothing; its machines are not
real, and you can log into them:

  alias millrace='npm run --silent millrace --'
  npm run --silent dev -- --key test | millrace login --api-url ${address} --inference-url ${chat} --key-stdin
  millrace offers
  millrace ssh-key add
  millrace rental create --gpu h100 --name first
  millrace ssh first
  millrace rental terminate first
  millrace market list
  millrace chat --model ${DEMO_MODEL} 'Tell me of the mill.'${llama ? '' : '      # a mock; npm run dev -- --llama has a real one, tiny'}

The live key has play money${llama ? ', a tiny model of our own' : ''} and an operator's rights:

  npm run --silent dev -- --key live | millrace login --profile live --api-url ${address} --inference-url ${chat} --key-stdin
  millrace balance --profile live
  millrace admin --help

By hand, with curl or any client that speaks to OpenAI (its base URL is ${chat}/v1):

  export MILLRACE_API_KEY=$(npm run --silent dev -- --key test)
  curl ${address}/v2/me -H "Authorization: Bearer $MILLRACE_API_KEY"
  curl ${chat}/v1/models -H "Authorization: Bearer $MILLRACE_API_KEY"

Every error of the api is explained at ${address}/docs/errors. The logs of the processes are in .millrace/dev; npm run dev -- --logs
shows them here.

The keys stay the same between starts (.millrace/dev.json). The organisation was given ${String(DEMO_CREDIT_USD)} USD of play money, once.
Ctrl-C stops.

`;
}
