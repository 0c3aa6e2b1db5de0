import {
  createGatewayWorld,
  modelFixture,
  deploymentFixture,
} from '../../packages/inference/src/gateway/gateway.fixture.ts';
const w = await createGatewayWorld({
  models: [
    modelFixture({
      name: 'double',
      contextLength: 8192,
      maxOutputTokens: 4096,
      deployments: [deploymentFixture({ address: process.argv[2]! })],
    }),
  ],
});
console.log(JSON.stringify({ url: w.url, key: w.key }));
w.usage.finals.push = () => 0;
(w.purse.reserved as any).push = () => 0;
(w.purse.settled as any).push = () => 0;
process.on('SIGUSR2', () => console.log(JSON.stringify(process.cpuUsage())));
process.on('SIGTERM', () => process.exit(0));
