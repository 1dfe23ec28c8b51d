<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>ActionRegistry</name>
    <message>
        <source>&amp;File</source>
        <translation>文件(&amp;F)</translation>
    </message>
    <message>
        <source>&amp;Session</source>
        <translation>会话(&amp;S)</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>视图(&amp;V)</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>帮助(&amp;H)</translation>
    </message>
    <message>
        <source>Open…</source>
        <translation>打开…</translation>
    </message>
    <message>
        <source>Open a session file</source>
        <translation>打开会话文件</translation>
    </message>
    <message>
        <source>Run the demo</source>
        <translation>运行演示</translation>
    </message>
    <message>
        <source>Train a small model here and look at it</source>
        <translation>在本机训练一个小模型并观察它</translation>
    </message>
    <message>
        <source>Attach…</source>
        <translation>附加…</translation>
    </message>
    <message>
        <source>Look at a program that is running</source>
        <translation>观察一个正在运行的程序</translation>
    </message>
    <message>
        <source>Record to file…</source>
        <translation>录制到文件…</translation>
    </message>
    <message>
        <source>Write this session, from its start, to a file</source>
        <translation>将本会话从头写入文件</translation>
    </message>
    <message>
        <source>Export data…</source>
        <translation>导出数据…</translation>
    </message>
    <message>
        <source>Write every event, every block, or a trace for Perfetto</source>
        <translation>写出所有事件、所有内存块，或供 Perfetto 使用的跟踪</translation>
    </message>
    <message>
        <source>Export view…</source>
        <translation>导出视图…</translation>
    </message>
    <message>
        <source>Write a view as a picture or a table</source>
        <translation>将视图写成图片或表格</translation>
    </message>
    <message>
        <source>Export report…</source>
        <translation>导出报告…</translation>
    </message>
    <message>
        <source>Write a report as one page or as JSON</source>
        <translation>将报告写成单页网页或 JSON</translation>
    </message>
    <message>
        <source>Close session</source>
        <translation>关闭会话</translation>
    </message>
    <message>
        <source>Leave the program as it was and close</source>
        <translation>让程序恢复原样并关闭</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>退出</translation>
    </message>
    <message>
        <source>Leave the program as it was and quit</source>
        <translation>让程序恢复原样并退出</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>暂停</translation>
    </message>
    <message>
        <source>Stop taking in data; the program goes on</source>
        <translation>停止接收数据；程序继续运行</translation>
    </message>
    <message>
        <source>Follow</source>
        <translation>跟随</translation>
    </message>
    <message>
        <source>Always show the newest step</source>
        <translation>始终显示最新一步</translation>
    </message>
    <message>
        <source>Previous step</source>
        <translation>上一步</translation>
    </message>
    <message>
        <source>Show the step before</source>
        <translation>显示前一步</translation>
    </message>
    <message>
        <source>Next step</source>
        <translation>下一步</translation>
    </message>
    <message>
        <source>Show the step after</source>
        <translation>显示后一步</translation>
    </message>
    <message>
        <source>Deep step</source>
        <translation>深度捕获步</translation>
    </message>
    <message>
        <source>Capture graph and tensors of the next step</source>
        <translation>捕获下一步的计算图与张量</translation>
    </message>
    <message>
        <source>Deep step with gradients</source>
        <translation>带梯度的深度步</translation>
    </message>
    <message>
        <source>Also measure every gradient and output of the next step, which takes longer</source>
        <translation>同时测量下一步的每个梯度和输出，耗时更长</translation>
    </message>
    <message>
        <source>Capture pulse</source>
        <translation>脉搏级捕获</translation>
    </message>
    <message>
        <source>Steps, phases, loss and memory totals only</source>
        <translation>只有步、阶段、损失和内存总量</translation>
    </message>
    <message>
        <source>Capture scope</source>
        <translation>范围级捕获</translation>
    </message>
    <message>
        <source>Modules and every allocation as well</source>
        <translation>另含模块和每一次内存分配</translation>
    </message>
    <message>
        <source>Detach</source>
        <translation>分离</translation>
    </message>
    <message>
        <source>Leave the program as it was; it goes on</source>
        <translation>让程序恢复原样；它继续运行</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>浅色</translation>
    </message>
    <message>
        <source>Light colours</source>
        <translation>浅色配色</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>深色</translation>
    </message>
    <message>
        <source>Dark colours</source>
        <translation>深色配色</translation>
    </message>
    <message>
        <source>Colours of the system</source>
        <translation>跟随系统配色</translation>
    </message>
    <message>
        <source>Light or dark as the system has it</source>
        <translation>浅色或深色随系统而定</translation>
    </message>
    <message>
        <source>Reset layout</source>
        <translation>重置布局</translation>
    </message>
    <message>
        <source>Put every panel where it was at first</source>
        <translation>将所有面板放回最初的位置</translation>
    </message>
    <message>
        <source>Full screen</source>
        <translation>全屏</translation>
    </message>
    <message>
        <source>Use the whole screen</source>
        <translation>使用整个屏幕</translation>
    </message>
    <message>
        <source>Find a command…</source>
        <translation>查找命令…</translation>
    </message>
    <message>
        <source>Type the name of any command</source>
        <translation>输入任意命令的名称</translation>
    </message>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>键盘快捷键</translation>
    </message>
    <message>
        <source>Show every key</source>
        <translation>显示所有按键</translation>
    </message>
    <message>
        <source>About TensorScope</source>
        <translation>关于 TensorScope</translation>
    </message>
    <message>
        <source>Version and licences</source>
        <translation>版本与许可</translation>
    </message>
</context>
<context>
    <name>AllocatorPanel</name>
    <message>
        <source>This session has no state of CUDA&apos;s caching allocator. It comes from a memory snapshot, or from a program on a CUDA device. The CPU&apos;s allocator keeps no segments: see What would fit for what this program would need on a device.</source>
        <translation>本会话没有 CUDA 缓存分配器的状态。它来自内存快照，或来自 CUDA 设备上的程序。CPU 的分配器不保留段：请在“怎样才放得下”中查看该程序在设备上所需的内存。</translation>
    </message>
    <message>
        <source>At the end</source>
        <translation>结束时</translation>
    </message>
    <message>
        <source>At {time} s</source>
        <translation>在 {time} s</translation>
    </message>
    <message>
        <source>At the end (the file has no history)</source>
        <translation>结束时（文件没有历史）</translation>
    </message>
    <message>
        <source>reserved</source>
        <translation>已保留</translation>
    </message>
    <message>
        <source>in use</source>
        <translation>使用中</translation>
    </message>
    <message>
        <source>waiting for a stream</source>
        <translation>等待流</translation>
    </message>
    <message>
        <source>idle</source>
        <translation>闲置</translation>
    </message>
    <message>
        <source>largest free block</source>
        <translation>最大空闲块</translation>
    </message>
    <message>
        <source>releasable by empty_cache</source>
        <translation>empty_cache 可释放</translation>
    </message>
    <message>
        <source>pinned by little</source>
        <translation>被少量占用钉住</translation>
    </message>
    <message>
        <source>lost to rounding</source>
        <translation>取整损失</translation>
    </message>
    <message>
        <source>default</source>
        <translation>默认</translation>
    </message>
    <message>
        <source>large</source>
        <translation>大块</translation>
    </message>
    <message>
        <source>small</source>
        <translation>小块</translation>
    </message>
    <message>
        <source>stream {stream}, pool {pool}</source>
        <translation>流 {stream}，池 {pool}</translation>
    </message>
    <message>
        <source>Domain</source>
        <translation>域</translation>
    </message>
    <message>
        <source>Kind</source>
        <translation>种类</translation>
    </message>
    <message>
        <source>Segments</source>
        <translation>段</translation>
    </message>
    <message>
        <source>Reserved</source>
        <translation>已保留</translation>
    </message>
    <message>
        <source>In use</source>
        <translation>使用中</translation>
    </message>
    <message>
        <source>Waiting</source>
        <translation>等待中</translation>
    </message>
    <message>
        <source>Free</source>
        <translation>空闲</translation>
    </message>
    <message>
        <source>Largest free</source>
        <translation>最大空闲</translation>
    </message>
    <message>
        <source>A request is served from the free blocks of its own domain only.</source>
        <translation>请求只能由其所属域内的空闲块满足。</translation>
    </message>
    <message>
        <source>Time since start (s)</source>
        <translation>自开始的时间 (s)</translation>
    </message>
    <message>
        <source>Allocator bytes</source>
        <translation>分配器字节</translation>
    </message>
    <message>
        <source>waits for a stream</source>
        <translation>等待流</translation>
    </message>
    <message>
        <source>rounding</source>
        <translation>取整</translation>
    </message>
    <message>
        <source>over time, at {count} sampled moments</source>
        <translation>随时间变化，取样 {count} 个时刻</translation>
    </message>
</context>
<context>
    <name>AttachDialog</name>
    <message>
        <source>Attach to a program</source>
        <translation>附加到程序</translation>
    </message>
    <message>
        <source>only for tcp</source>
        <translation>仅用于 tcp</translation>
    </message>
    <message>
        <source>Start the program with: tensorscope run --headless SCRIPT</source>
        <translation>用以下命令启动程序：tensorscope run --headless SCRIPT</translation>
    </message>
    <message>
        <source>Process id or address</source>
        <translation>进程号或地址</translation>
    </message>
    <message>
        <source>Token</source>
        <translation>令牌</translation>
    </message>
</context>
<context>
    <name>AxisBar</name>
    <message>
        <source>axis {axis} · {size}</source>
        <translation>轴 {axis} · {size}</translation>
    </message>
    <message>
        <source>axis {axis}: {value} of {size}</source>
        <translation>轴 {axis}：{value} / {size}</translation>
    </message>
    <message>
        <source>Rows</source>
        <translation>行</translation>
    </message>
    <message>
        <source>Columns</source>
        <translation>列</translation>
    </message>
</context>
<context>
    <name>BackwardPlayer</name>
    <message>
        <source>{count} nodes in {time}</source>
        <translation>{time} 内 {count} 个节点</translation>
    </message>
    <message>
        <source>Before backward · {total}</source>
        <translation>反向之前 · {total}</translation>
    </message>
    <message>
        <source>took {time}</source>
        <translation>耗时 {time}</translation>
    </message>
    <message>
        <source>freed {size}, {all} so far</source>
        <translation>释放 {size}，累计 {all}</translation>
    </message>
    <message>
        <source>gradient norm {norm}</source>
        <translation>梯度范数 {norm}</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>暂停</translation>
    </message>
    <message>
        <source>Play</source>
        <translation>播放</translation>
    </message>
    <message>
        <source>Close the replay</source>
        <translation>关闭回放</translation>
    </message>
    <message>
        <source>Nodes of backward, in the order in which they ran</source>
        <translation>反向的节点，按运行顺序</translation>
    </message>
</context>
<context>
    <name>BlockDetails</name>
    <message>
        <source>Nothing that the program&apos;s objects lead to: it is gone, or C++ holds it.</source>
        <translation>程序的对象均不指向它：已释放，或由 C++ 持有。</translation>
    </message>
    <message>
        <source>Asked the program; it answers after this step.</source>
        <translation>已询问程序；这一步之后会回答。</translation>
    </message>
    <message>
        <source>Who holds it?</source>
        <translation>谁持有它？</translation>
    </message>
    <message>
        <source>Ask the program which objects keep this block alive</source>
        <translation>询问程序是哪些对象使该内存块存活</translation>
    </message>
    <message>
        <source>Block</source>
        <translation>内存块</translation>
    </message>
    <message>
        <source>Bytes</source>
        <translation>字节</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>地址</translation>
    </message>
    <message>
        <source>Module</source>
        <translation>模块</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>Lives</source>
        <translation>寿命</translation>
    </message>
    <message>
        <source>Stream</source>
        <translation>流</translation>
    </message>
    <message>
        <source>Pool</source>
        <translation>池</translation>
    </message>
    <message>
        <source>Operator</source>
        <translation>算子</translation>
    </message>
    <message>
        <source>Tensors in it</source>
        <translation>其中的张量</translation>
    </message>
    <message>
        <source>Saved for backward by</source>
        <translation>由以下节点为反向保存</translation>
    </message>
    <message>
        <source>its allocation was not seen</source>
        <translation>未见其分配</translation>
    </message>
    <message>
        <source>lost in a gap</source>
        <translation>在间隙中丢失</translation>
    </message>
    <message>
        <source>still alive</source>
        <translation>仍存活</translation>
    </message>
    <message>
        <source>{count} native frames, from {first}</source>
        <translation>{count} 个原生帧，始于 {first}</translation>
    </message>
    <message>
        <source>and {count} more</source>
        <translation>以及另外 {count} 个</translation>
    </message>
</context>
<context>
    <name>BlockItemModel</name>
    <message>
        <source>Size</source>
        <translation>大小</translation>
    </message>
    <message>
        <source>Where</source>
        <translation>位置</translation>
    </message>
    <message>
        <source>Since step</source>
        <translation>起始步</translation>
    </message>
    <message>
        <source>before</source>
        <translation>此前</translation>
    </message>
</context>
<context>
    <name>BlocksPanel</name>
    <message>
        <source>{count} blocks alive, largest first</source>
        <translation>{count} 个存活的内存块，最大的在前</translation>
    </message>
</context>
<context>
    <name>CaptureMessage</name>
    <message>
        <source>The captured step cannot be shown: {reason}.</source>
        <translation>无法显示捕获的这一步：{reason}。</translation>
    </message>
    <message>
        <source>Asked the program. The deep step arrives when its next step has ended.</source>
        <translation>已向程序请求。程序的下一步结束后，深度捕获步就会到达。</translation>
    </message>
    <message>
        <source>No deep step has been captured yet. It shows the graph and every tensor.</source>
        <translation>尚未捕获深度步。它会显示计算图和每个张量。</translation>
    </message>
    <message>
        <source>No deep step has been captured yet. Resume the stream to ask for one.</source>
        <translation>尚未捕获深度步。恢复数据流后即可请求。</translation>
    </message>
    <message>
        <source>This session holds no deep step, and the program is not attached any more.</source>
        <translation>本会话没有深度捕获步，且程序已不再附加。</translation>
    </message>
    <message>
        <source>Attach to a program or open a session file.</source>
        <translation>请附加到程序或打开会话文件。</translation>
    </message>
    <message>
        <source>Deep capture now</source>
        <translation>立即深度捕获</translation>
    </message>
    <message>
        <source>Why nothing is shown</source>
        <translation>为何没有内容</translation>
    </message>
</context>
<context>
    <name>CommandPalette</name>
    <message>
        <source>Find a command</source>
        <translation>查找命令</translation>
    </message>
    <message>
        <source>Type a few letters</source>
        <translation>输入几个字母</translation>
    </message>
</context>
<context>
    <name>ComparePanel</name>
    <message>
        <source>this session</source>
        <translation>本会话</translation>
    </message>
    <message>
        <source>steps with: {name}</source>
        <translation>步：{name}</translation>
    </message>
    <message>
        <source>a file …</source>
        <translation>文件…</translation>
    </message>
    <message>
        <source>Sessions, snapshots and traces (*.tscope *.pickle *.pkl *.json *.gz);;All files (*)</source>
        <translation>会话、快照和跟踪 (*.tscope *.pickle *.pkl *.json *.gz);;所有文件 (*)</translation>
    </message>
    <message>
        <source>Compare with</source>
        <translation>比较对象</translation>
    </message>
    <message>
        <source>Reading {name} …</source>
        <translation>正在读取 {name}…</translation>
    </message>
    <message>
        <source>Choose two sides above: this session, a toggle state that ran in it, or a file (session, memory snapshot or trace).</source>
        <translation>请在上方选择两侧：本会话、其中运行过的开关状态，或文件（会话、内存快照或跟踪）。</translation>
    </message>
    <message>
        <source>A: {a}, {n} steps · B: {b}, {m} steps · left out for warm-up or a deep step: {k} and {l}</source>
        <translation>A：{a}，{n} 步 · B：{b}，{m} 步 · 因预热或深度捕获步而未计入：{k} 与 {l}</translation>
    </message>
    <message>
        <source>Step time</source>
        <translation>步耗时</translation>
    </message>
    <message>
        <source>Peak of the step</source>
        <translation>步内峰值</translation>
    </message>
    <message>
        <source>Live at step end</source>
        <translation>步末存活</translation>
    </message>
    <message>
        <source>Growth a step</source>
        <translation>每步增长</translation>
    </message>
    <message>
        <source>Reserved</source>
        <translation>已保留</translation>
    </message>
    <message>
        <source>Reserved over peak</source>
        <translation>保留量/峰值</translation>
    </message>
    <message>
        <source>within noise</source>
        <translation>在噪声范围内</translation>
    </message>
    <message>
        <source>B − A</source>
        <translation>B − A</translation>
    </message>
    <message>
        <source>Change</source>
        <translation>变化</translation>
    </message>
    <message>
        <source>Certainty</source>
        <translation>可信度</translation>
    </message>
    <message>
        <source>Filter by name</source>
        <translation>按名称筛选</translation>
    </message>
    <message>
        <source>Live allocator bytes</source>
        <translation>存活的分配器字节</translation>
    </message>
</context>
<context>
    <name>ComputedPanel</name>
    <message>
        <source>This could not be worked out: {reason}</source>
        <translation>无法得出结果:{reason}</translation>
    </message>
    <message>
        <source>Working it out …</source>
        <translation>正在计算…</translation>
    </message>
</context>
<context>
    <name>FindingTexts</name>
    <message>
        <source>Note</source>
        <translation>提示</translation>
    </message>
    <message>
        <source>Warning</source>
        <translation>警告</translation>
    </message>
    <message>
        <source>Problem</source>
        <translation>问题</translation>
    </message>
    <message>
        <source>Something that outlives the step still refers to a result with a grad_fn: a list of losses, a running sum, or a hidden state. Keep loss.item() or tensor.detach() instead.</source>
        <translation>有某个比这一步活得更久的对象仍引用着带 grad_fn 的结果：损失列表、累加和或隐藏状态。请改为保留 loss.item() 或 tensor.detach()。</translation>
    </message>
    <message>
        <source>Look at who keeps the blocks of these modules: a list or cache that only grows, or predictions and losses that are collected on the device; keep tensor.detach().cpu() or loss.item() instead.</source>
        <translation>请查看是谁保留着这些模块的内存块：只增不减的列表或缓存，或在设备上收集的预测与损失；请改为保留 tensor.detach().cpu() 或 loss.item()。</translation>
    </message>
    <message>
        <source>First step</source>
        <translation>首步</translation>
    </message>
    <message>
        <source>Last step</source>
        <translation>末步</translation>
    </message>
    <message>
        <source>Growth per step</source>
        <translation>每步增长</translation>
    </message>
    <message>
        <source>Rise of live bytes</source>
        <translation>存活字节增量</translation>
    </message>
    <message>
        <source>Blocks still alive</source>
        <translation>仍存活的块</translation>
    </message>
    <message>
        <source>Deep step</source>
        <translation>深度捕获步</translation>
    </message>
    <message>
        <source>Its saved tensors still alive</source>
        <translation>其保存张量中仍存活的</translation>
    </message>
    <message>
        <source>In {module}</source>
        <translation>位于 {module}</translation>
    </message>
    <message>
        <source>The autograd graph is kept across steps: {bytes_per_step} that it holds stay alive every step (steps {first_step} to {last_step}).</source>
        <translation>自动求导图跨步保留：每步有 {bytes_per_step} 由它占用的内存一直存活（第 {first_step} 步到第 {last_step} 步）。</translation>
    </message>
    <message>
        <source>Live bytes grow every step: {bytes_per_step} allocated in each of steps {first_step} to {last_step} are still alive.</source>
        <translation>存活字节逐步增长：第 {first_step} 步到第 {last_step} 步每步分配的 {bytes_per_step} 仍然存活。</translation>
    </message>
    <message>
        <source>{write_op} ({write_source}) wrote to a tensor that {op} ({source}) had saved for backward, which failed.</source>
        <translation>{write_op}（{write_source}）写入了 {op}（{source}）为反向保存的张量，反向因此失败。</translation>
    </message>
    <message>
        <source>{used_by} at {used_source} uses {op} from {source}, whose saved tensors an earlier backward had freed: backward failed.</source>
        <translation>{used_source} 处的 {used_by} 使用了来自 {source} 的 {op}，其保存的张量已被先前的反向释放：反向失败。</translation>
    </message>
    <message>
        <source>Backward reaches into earlier steps: {older_nodes} of its {nodes} nodes were made before the step began, the newest of them {op} at {source}.</source>
        <translation>反向延伸到了先前的步：{nodes} 个节点中有 {older_nodes} 个在本步开始之前创建，其中最新的是 {source} 处的 {op}。</translation>
    </message>
    <message>
        <source>{tensors} results keep the graphs of earlier steps alive ({nodes} nodes) when a step ends.</source>
        <translation>一步结束时，{tensors} 个结果仍使先前各步的图存活（{nodes} 个节点）。</translation>
    </message>
    <message>
        <source>Backward {backward} of {backwards} kept its graph (retain_graph=True) and no later backward used it: {saved_bytes} stay longer than they must.</source>
        <translation>{backwards} 次反向中的第 {backward} 次保留了图（retain_graph=True），而之后没有反向使用它：{saved_bytes} 存活得比必要的久。</translation>
    </message>
    <message>
        <source>Evaluation builds autograd graphs: {forwards} forwards in eval mode in {steps} steps had gradients on, and no backward followed.</source>
        <translation>评估时建立了自动求导图：{steps} 步中有 {forwards} 次 eval 模式的前向开着梯度，之后没有反向。</translation>
    </message>
    <message>
        <source>Hooks pile up: {hooks} on parameters and modules in steps {steps}.</source>
        <translation>钩子不断累积：第 {steps} 步时参数和模块上有 {hooks} 个。</translation>
    </message>
    <message>
        <source>{cheap_bytes} of the {saved_bytes} that are saved for backward are saved by operations that are cheap to compute again.</source>
        <translation>为反向保存的 {saved_bytes} 中，有 {cheap_bytes} 由重算代价很低的运算保存。</translation>
    </message>
    <message>
        <source>{module} is the first module whose output is not finite ({kind}).</source>
        <translation>{module} 是第一个输出非有限值（{kind}）的模块。</translation>
    </message>
    <message>
        <source>{op} at {source} is the first node that turns a finite gradient into {kind}; {nodes_after} nodes after it receive one that is not finite.</source>
        <translation>{source} 处的 {op} 是第一个把有限梯度变成 {kind} 的节点；其后 {nodes_after} 个节点收到了非有限的梯度。</translation>
    </message>
    <message>
        <source>{parameters} trained parameters get no gradient: {first_name}.</source>
        <translation>{parameters} 个被训练的参数没有得到梯度：{first_name}。</translation>
    </message>
    <message>
        <source>{untrained} parameters get a gradient and are in no optimizer: {first_name}. The optimizer holds {orphans} tensors that the model does not.</source>
        <translation>{untrained} 个参数得到了梯度却不在任何优化器中：{first_name}。优化器持有 {orphans} 个模型没有的张量。</translation>
    </message>
    <message>
        <source>Gradients of {modules} modules are over a million times smaller than the median module&apos;s.</source>
        <translation>{modules} 个模块的梯度比中位模块小一百万倍以上。</translation>
    </message>
    <message>
        <source>Gradients of {modules} modules are over a million times larger than the median module&apos;s.</source>
        <translation>{modules} 个模块的梯度比中位模块大一百万倍以上。</translation>
    </message>
    <message>
        <source>Look at the activations and initialisation on the way to them; normalisation, residual connections or another activation keep gradients in scale.</source>
        <translation>检查通往它们的激活函数和初始化；归一化、残差连接或换一种激活函数可使梯度保持尺度。</translation>
    </message>
    <message>
        <source>Write to a new tensor instead (x = x + 1, not x += 1), or clone before the write. Operations that do not save what they return (addition, convolution, linear) may be followed by one.</source>
        <translation>改为写入新张量（用 x = x + 1，不用 x += 1），或在写入前 clone。不保存自身输出的运算（加法、卷积、线性层）之后可以原地写入。</translation>
    </message>
    <message>
        <source>A result of before is used again with its graph, such as a hidden state: detach it. If both backwards are meant, add the losses and go backward once.</source>
        <translation>先前的结果连同它的图被再次使用，例如隐藏状态：请 detach。若两次反向都是有意的，把损失相加后只做一次反向。</translation>
    </message>
    <message>
        <source>Something computed in an earlier step is used with its graph: a hidden state, a running sum or cached features. Detach it where the step ends, unless it is meant to be trained through.</source>
        <translation>先前某步算出的东西连同它的图被使用：隐藏状态、累加和或缓存的特征。除非有意跨步训练，请在步末 detach。</translation>
    </message>
    <message>
        <source>Keep loss.item() or tensor.detach() instead of the result itself.</source>
        <translation>请保留 loss.item() 或 tensor.detach()，而不是结果本身。</translation>
    </message>
    <message>
        <source>Leave retain_graph out: saved tensors are then freed while backward runs.</source>
        <translation>去掉 retain_graph：这样保存的张量会在反向过程中释放。</translation>
    </message>
    <message>
        <source>Put torch.no_grad() or torch.inference_mode() round the evaluation: eval() alone does not switch gradients off.</source>
        <translation>用 torch.no_grad() 或 torch.inference_mode() 包住评估：仅 eval() 并不会关闭梯度。</translation>
    </message>
    <message>
        <source>Register hooks once, outside of the loop, or remove each handle that is not needed any more.</source>
        <translation>在循环外只注册一次钩子，或移除不再需要的句柄。</translation>
    </message>
    <message>
        <source>Where memory is short, checkpoint the modules that hold them (Saved for backward says what each would bring), or compile them: fused operations save less.</source>
        <translation>内存不足时，对持有它们的模块使用检查点（“为反向保存”会说明各自能省多少），或编译它们：融合后的运算保存得更少。</translation>
    </message>
    <message>
        <source>Look at its input and parameters: a division by zero, a logarithm of zero, or an overflow in half precision.</source>
        <translation>检查它的输入和参数：除以零、对零取对数，或半精度溢出。</translation>
    </message>
    <message>
        <source>Its slope is not finite where it was evaluated (a square root or norm at zero, a logarithm, a division); torch.where does not help, its unused branch is differentiated, too. Move the bad values away before the operation.</source>
        <translation>它在取值处的斜率不是有限的（零处的平方根或范数、对数、除法）；torch.where 无济于事，未选中的分支同样会被求导。请在运算之前移开坏值。</translation>
    </message>
    <message>
        <source>Unused: the module did not run, or its result is thrown away. Detached: its result left the graph (detach(), no_grad(), a conversion to numpy or a Python number). Freeze or remove what is not meant to be trained.</source>
        <translation>未使用：模块没有运行，或其结果被丢弃。已分离：其结果离开了图（detach()、no_grad()、转成 numpy 或 Python 数）。不打算训练的请冻结或移除。</translation>
    </message>
    <message>
        <source>Make the optimizer after the model has its final parameters (after replacing layers, loading, adding heads), or add them with add_param_group.</source>
        <translation>在模型拥有最终参数之后（替换层、加载、添加头之后）再创建优化器，或用 add_param_group 添加。</translation>
    </message>
    <message>
        <source>no module</source>
        <translation>模块之外</translation>
    </message>
    <message>
        <source>Operation</source>
        <translation>运算</translation>
    </message>
    <message>
        <source>Line</source>
        <translation>代码行</translation>
    </message>
    <message>
        <source>Module</source>
        <translation>模块</translation>
    </message>
    <message>
        <source>Saved as</source>
        <translation>保存为</translation>
    </message>
    <message>
        <source>Written by</source>
        <translation>写入者</translation>
    </message>
    <message>
        <source>Line of the write</source>
        <translation>写入所在行</translation>
    </message>
    <message>
        <source>Used by</source>
        <translation>使用者</translation>
    </message>
    <message>
        <source>Line of the use</source>
        <translation>使用所在行</translation>
    </message>
    <message>
        <source>Edges</source>
        <translation>边</translation>
    </message>
    <message>
        <source>Nodes of earlier steps</source>
        <translation>先前各步的节点</translation>
    </message>
    <message>
        <source>Saved by them</source>
        <translation>由它们保存</translation>
    </message>
    <message>
        <source>Nodes</source>
        <translation>节点</translation>
    </message>
    <message>
        <source>Tensors</source>
        <translation>张量数</translation>
    </message>
    <message>
        <source>Held by</source>
        <translation>持有者</translation>
    </message>
    <message>
        <source>Backward</source>
        <translation>反向</translation>
    </message>
    <message>
        <source>Backwards</source>
        <translation>反向次数</translation>
    </message>
    <message>
        <source>Saved for backward</source>
        <translation>为反向保存</translation>
    </message>
    <message>
        <source>Cheap to compute again</source>
        <translation>重算代价低</translation>
    </message>
    <message>
        <source>Largest</source>
        <translation>最大者</translation>
    </message>
    <message>
        <source>Forwards</source>
        <translation>前向次数</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>步</translation>
    </message>
    <message>
        <source>Hooks</source>
        <translation>钩子</translation>
    </message>
    <message>
        <source>Value</source>
        <translation>值</translation>
    </message>
    <message>
        <source>Finite outputs before it</source>
        <translation>其前的有限输出</translation>
    </message>
    <message>
        <source>Outputs measured</source>
        <translation>已测量的输出</translation>
    </message>
    <message>
        <source>Norm of what it received</source>
        <translation>所收梯度的范数</translation>
    </message>
    <message>
        <source>Nodes after it</source>
        <translation>其后的节点</translation>
    </message>
    <message>
        <source>Parameters</source>
        <translation>参数</translation>
    </message>
    <message>
        <source>Their size</source>
        <translation>它们的大小</translation>
    </message>
    <message>
        <source>Unused</source>
        <translation>未使用</translation>
    </message>
    <message>
        <source>Detached</source>
        <translation>已分离</translation>
    </message>
    <message>
        <source>Result not used by the loss</source>
        <translation>结果未被损失使用</translation>
    </message>
    <message>
        <source>Parameter</source>
        <translation>参数</translation>
    </message>
    <message>
        <source>Not trained</source>
        <translation>未被训练</translation>
    </message>
    <message>
        <source>Only in the optimizer</source>
        <translation>仅在优化器中</translation>
    </message>
    <message>
        <source>Modules</source>
        <translation>模块</translation>
    </message>
    <message>
        <source>Median gradient (RMS)</source>
        <translation>梯度中位数（均方根）</translation>
    </message>
    <message>
        <source>Gradient (RMS)</source>
        <translation>梯度（均方根）</translation>
    </message>
</context>
<context>
    <name>FindingsView</name>
    <message>
        <source>Findings</source>
        <translation>发现</translation>
    </message>
    <message>
        <source>No session is open.</source>
        <translation>没有打开的会话。</translation>
    </message>
    <message>
        <source>Nothing can be said yet: allocations are not recorded at this capture level.</source>
        <translation>暂无结论：当前捕获级别不记录内存分配。</translation>
    </message>
    <message>
        <source>Nothing found. Rules about growth need {n} steps before they can prove anything.</source>
        <translation>未发现问题。关于增长的规则需要 {n} 步才能作出证明。</translation>
    </message>
    <message>
        <source>Nothing found. Looked for graphs that are kept across steps, parameters without gradient, writes over saved tensors, gradients that are not finite, and live bytes that grow every step.</source>
        <translation>没有发现问题。已检查：跨步保留的图、没有梯度的参数、对已保存张量的写入、非有限的梯度，以及逐步增长的存活字节。</translation>
    </message>
    <message>
        <source>Severity</source>
        <translation>严重程度</translation>
    </message>
    <message>
        <source>Finding</source>
        <translation>发现</translation>
    </message>
    <message>
        <source>Proof</source>
        <translation>证据</translation>
    </message>
    <message>
        <source>Value</source>
        <translation>值</translation>
    </message>
    <message>
        <source>Show me</source>
        <translation>查看</translation>
    </message>
    <message>
        <source>Proof of the chosen finding</source>
        <translation>所选发现的证据</translation>
    </message>
</context>
<context>
    <name>FitBar</name>
    <message>
        <source>Device memory</source>
        <translation>设备内存</translation>
    </message>
    <message>
        <source>no limit</source>
        <translation>不限</translation>
    </message>
    <message>
        <source>What the device has for PyTorch&apos;s allocator: not the CUDA context, not other programs.</source>
        <translation>设备可供 PyTorch 分配器使用的内存:不含 CUDA 上下文和其他程序。</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>起始状态</translation>
    </message>
    <message>
        <source>empty</source>
        <translation>空</translation>
    </message>
    <message>
        <source>as recorded</source>
        <translation>与录制时相同</translation>
    </message>
    <message>
        <source>What the allocator holds before the first request.</source>
        <translation>第一个请求之前分配器持有的内存。</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>设备</translation>
    </message>
    <message>
        <source>Compare</source>
        <translation>比较</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Progress</source>
        <translation>进度</translation>
    </message>
</context>
<context>
    <name>FitDetails</name>
    <message>
        <source>Million events</source>
        <translation>百万事件</translation>
    </message>
    <message>
        <source>Time (s)</source>
        <translation>时间(秒)</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Copy what to set before the program starts</source>
        <translation>复制程序启动前要设置的内容</translation>
    </message>
    <message>
        <source>dashed: reserved as recorded</source>
        <translation>虚线:录制时的保留量</translation>
    </message>
    <message>
        <source>dashed: reserved with PyTorch&apos;s defaults</source>
        <translation>虚线:PyTorch 默认设置下的保留量</translation>
    </message>
    <message>
        <source>blue: reserved with this setting</source>
        <translation>蓝线:此设置下的保留量</translation>
    </message>
    <message>
        <source>grey: held by the program</source>
        <translation>灰色:程序持有</translation>
    </message>
    <message>
        <source>orange: the limit</source>
        <translation>橙线:上限</translation>
    </message>
</context>
<context>
    <name>FitPanel</name>
    <message>
        <source>Replaying every request under each setting …</source>
        <translation>正在按每种设置重放所有请求…</translation>
    </message>
    <message>
        <source>This could not be worked out: {reason}</source>
        <translation>无法得出结果:{reason}</translation>
    </message>
    <message>
        <source>There is no history of requests to replay. Record memory from capture level scope on, or open a CUDA snapshot that was recorded with torch.cuda.memory._record_memory_history().</source>
        <translation>没有可重放的请求历史。请从采集级别 scope 起录制内存,或打开用 torch.cuda.memory._record_memory_history() 录制的 CUDA 快照。</translation>
    </message>
    <message>
        <source>Press Compare to replay {count} events under each setting of the allocator.</source>
        <translation>按“比较”以便在分配器的每种设置下重放 {count} 个事件。</translation>
    </message>
</context>
<context>
    <name>FitTexts</name>
    <message>
        <source>Setting</source>
        <translation>设置</translation>
    </message>
    <message>
        <source>Peak reserved</source>
        <translation>保留峰值</translation>
    </message>
    <message>
        <source>Difference</source>
        <translation>差值</translation>
    </message>
    <message>
        <source>Difference, %</source>
        <translation>差值,%</translation>
    </message>
    <message>
        <source>Fits</source>
        <translation>能否放下</translation>
    </message>
    <message>
        <source>Peak in use</source>
        <translation>使用峰值</translation>
    </message>
    <message>
        <source>Unused at the peak</source>
        <translation>峰值时未用</translation>
    </message>
    <message>
        <source>Reserved at the end</source>
        <translation>结束时保留</translation>
    </message>
    <message>
        <source>Calls for memory</source>
        <translation>申请显存次数</translation>
    </message>
    <message>
        <source>Retries</source>
        <translation>重试次数</translation>
    </message>
    <message>
        <source>PyTorch&apos;s defaults</source>
        <translation>PyTorch 默认设置</translation>
    </message>
    <message>
        <source>{setting} + empty_cache() after each step</source>
        <translation>{setting} + 每步后 empty_cache()</translation>
    </message>
    <message>
        <source>{setting} (as recorded)</source>
        <translation>{setting}(与录制时相同)</translation>
    </message>
    <message>
        <source>yes</source>
        <translation>能</translation>
    </message>
    <message>
        <source>no</source>
        <translation>不能</translation>
    </message>
    <message>
        <source>Exact: replayed from the recorded state, the model reserves what the file says at every request; {same} of {all} blocks lie at the recorded address.</source>
        <translation>精确:从录制的状态重放时,模型在每次请求后保留的字节数都与文件一致;{all} 个块中有 {same} 个位于录制的地址。</translation>
    </message>
    <message>
        <source>Off by up to {most}, {end} at the end: replayed from the recorded state, the model does not reserve what the file says; {same} of {all} blocks lie at the recorded address.</source>
        <translation>最多相差 {most},结束时相差 {end}:从录制的状态重放时,模型保留的字节数与文件不一致;{all} 个块中有 {same} 个位于录制的地址。</translation>
    </message>
    <message>
        <source>Simulated: nothing recorded says what was reserved, so it cannot be compared.</source>
        <translation>模拟:录制中没有保留字节数,因此无法比较。</translation>
    </message>
    <message>
        <source>Recorded: at most {peak} reserved, {end} at the end.</source>
        <translation>录制值:最多保留 {peak},结束时 {end}。</translation>
    </message>
    <message>
        <source>There is no history of requests, so there is nothing to replay.</source>
        <translation>没有请求历史,因此没有可重放的内容。</translation>
    </message>
    <message>
        <source>Settings start from what the allocator held when the recording began, as if changed at that moment.</source>
        <translation>各设置从录制开始时分配器持有的内存起步,如同在那一刻改变设置。</translation>
    </message>
    <message>
        <source>Settings start empty, the {blocks} blocks from before the recording first: what was left in the cache by then is not in it.</source>
        <translation>各设置从空的分配器起步,先分配录制之前已有的 {blocks} 个块:当时缓存中剩余的内存不计在内。</translation>
    </message>
    <message>
        <source>The program used cudaMallocAsync, whose rules are others than those of this model.</source>
        <translation>程序使用了 cudaMallocAsync,其规则与此模型不同。</translation>
    </message>
    <message>
        <source>Requests are those of the CUDA allocator&apos;s own trace.</source>
        <translation>请求取自 CUDA 分配器自身的记录。</translation>
    </message>
    <message>
        <source>Requests are CUDA blocks as large as the allocator rounded them: the program may have asked for a little less.</source>
        <translation>请求是经分配器取整后的 CUDA 块:程序实际要求的可能略少。</translation>
    </message>
    <message>
        <source>Simulated from CPU requests: what the same requests would need under the rules of the CUDA allocator. On a GPU a program makes other temporary blocks.</source>
        <translation>由 CPU 请求模拟:同样的请求按 CUDA 分配器的规则会需要多少。在 GPU 上程序会产生不同的临时块。</translation>
    </message>
    <message>
        <source>Private pools ({pools}; CUDA graphs, MemPool) keep what they reserve to the end.</source>
        <translation>私有池({pools} 个;CUDA 图、MemPool)会一直保留其内存直到结束。</translation>
    </message>
    <message>
        <source>{blocks} blocks of impossible sizes are left out.</source>
        <translation>略去了 {blocks} 个大小不可能的块。</translation>
    </message>
    <message>
        <source>PyTorch collects garbage only after torch.cuda.set_per_process_memory_fraction(); here that is the limit.</source>
        <translation>PyTorch 只有在调用 torch.cuda.set_per_process_memory_fraction() 之后才回收;这里以所填上限为准。</translation>
    </message>
    <message>
        <source>Does not fit: request {number} at {time} wants {size}. {reserved} are reserved then, {active} of them in use; {free} are free for it, in pieces of at most {largest}.</source>
        <translation>放不下:{time} 时第 {number} 个请求需要 {size}。此时已保留 {reserved},其中 {active} 在使用;可供它使用的空闲内存为 {free},单块最大 {largest}。</translation>
    </message>
    <message>
        <source>Fits, but the whole cache had to be given back {count}×, each time waiting for the device.</source>
        <translation>能放下,但须把整个缓存归还 {count} 次,每次都要等待设备。</translation>
    </message>
    <message>
        <source>Fits.</source>
        <translation>能放下。</translation>
    </message>
    <message>
        <source>The program itself never held more than {size} at once.</source>
        <translation>程序自身同时持有的内存从未超过 {size}。</translation>
    </message>
</context>
<context>
    <name>GraphBar</name>
    <message>
        <source>Find: name, op:addmm, param:weight, bytes&gt;1MiB, time&gt;1ms</source>
        <translation>查找：名称、op:addmm、param:weight、bytes&gt;1MiB、time&gt;1ms</translation>
    </message>
    <message>
        <source>Words are looked for in operation, module, parameter, shape and line. op: module: param: shape: dtype: source: look in one; bytes&gt; time&gt; norm&gt; compare. Enter steps through what is found.</source>
        <translation>词语在运算、模块、参数、形状和代码行中查找。op: module: param: shape: dtype: source: 只查其一；bytes&gt; time&gt; norm&gt; 做比较。回车逐个查看结果。</translation>
    </message>
    <message>
        <source>Find in the graph</source>
        <translation>在图中查找</translation>
    </message>
    <message>
        <source>Colour: saved bytes</source>
        <translation>颜色：保存的字节</translation>
    </message>
    <message>
        <source>Colour: backward time</source>
        <translation>颜色：反向时间</translation>
    </message>
    <message>
        <source>Colour: gradient norm</source>
        <translation>颜色：梯度范数</translation>
    </message>
    <message>
        <source>Colour: module</source>
        <translation>颜色：模块</translation>
    </message>
    <message>
        <source>Colour: kind of operation</source>
        <translation>颜色：运算类别</translation>
    </message>
    <message>
        <source>No colour</source>
        <translation>无颜色</translation>
    </message>
    <message>
        <source>What the fill of a box shows</source>
        <translation>方框填充的含义</translation>
    </message>
    <message>
        <source>Previous</source>
        <translation>上一个</translation>
    </message>
    <message>
        <source>Next</source>
        <translation>下一个</translation>
    </message>
    <message>
        <source>Expand</source>
        <translation>展开</translation>
    </message>
    <message>
        <source>Expand every module that is shown by one level</source>
        <translation>把显示的每个模块展开一级</translation>
    </message>
    <message>
        <source>Collapse</source>
        <translation>折叠</translation>
    </message>
    <message>
        <source>Collapse all modules</source>
        <translation>折叠所有模块</translation>
    </message>
    <message>
        <source>Fit</source>
        <translation>适应</translation>
    </message>
    <message>
        <source>Show all of it (F)</source>
        <translation>显示全部（F）</translation>
    </message>
    <message>
        <source>Replay</source>
        <translation>回放</translation>
    </message>
    <message>
        <source>Replay the backward of this step, node by node</source>
        <translation>逐节点回放这一步的反向</translation>
    </message>
</context>
<context>
    <name>GraphCanvas</name>
    <message>
        <source>1 op</source>
        <translation>1 个算子</translation>
    </message>
    <message>
        <source>{count} ops</source>
        <translation>{count} 个算子</translation>
    </message>
    <message>
        <source>1 param</source>
        <translation>1 个参数</translation>
    </message>
    <message>
        <source>{count} params</source>
        <translation>{count} 个参数</translation>
    </message>
</context>
<context>
    <name>GraphDetails</name>
    <message>
        <source>Click a box to see what it is, what it saved for backward and how long that takes.</source>
        <translation>单击方框，可看到它是什么、为反向保存了什么、反向耗时多久。</translation>
    </message>
    <message>
        <source>Double-click or Enter expands a module, arrows walk along edges, / finds, F fits.</source>
        <translation>双击或回车展开模块，方向键沿边移动，/ 查找，F 适应窗口。</translation>
    </message>
    <message>
        <source>Node</source>
        <translation>节点</translation>
    </message>
    <message>
        <source>Shape</source>
        <translation>形状</translation>
    </message>
    <message>
        <source>Dtype</source>
        <translation>数据类型</translation>
    </message>
    <message>
        <source>Used by</source>
        <translation>使用者</translation>
    </message>
    <message>
        <source>{count} operations</source>
        <translation>{count} 个操作</translation>
    </message>
    <message>
        <source>Leaf</source>
        <translation>叶子</translation>
    </message>
    <message>
        <source>Module</source>
        <translation>模块</translation>
    </message>
    <message>
        <source>(outside of modules)</source>
        <translation>（模块之外）</translation>
    </message>
    <message>
        <source>Source</source>
        <translation>源码</translation>
    </message>
    <message>
        <source>Backward</source>
        <translation>反向</translation>
    </message>
    <message>
        <source>not timed</source>
        <translation>未计时</translation>
    </message>
    <message>
        <source>Saved</source>
        <translation>已保存</translation>
    </message>
    <message>
        <source>Saved tensors</source>
        <translation>保存的张量</translation>
    </message>
    <message>
        <source>A storage that several nodes save is counted once, at the first.</source>
        <translation>被多个节点保存的存储只在第一个节点处计一次。</translation>
    </message>
    <message>
        <source>Operations</source>
        <translation>操作</translation>
    </message>
    <message>
        <source>Parameters</source>
        <translation>参数</translation>
    </message>
    <message>
        <source>{size} ({share} of the graph)</source>
        <translation>{size}（占全图 {share}）</translation>
    </message>
    <message>
        <source>Largest saved here</source>
        <translation>此处保存最大的</translation>
    </message>
    <message>
        <source>and {count} more</source>
        <translation>以及另外 {count} 个</translation>
    </message>
</context>
<context>
    <name>GraphLegend</name>
    <message>
        <source>others</source>
        <translation>其他</translation>
    </message>
    <message>
        <source>Gradients were not measured: ask for a deep step with gradients.</source>
        <translation>未测量梯度：请求一次带梯度的深度步。</translation>
    </message>
    <message>
        <source>Backward was not timed.</source>
        <translation>反向未计时。</translation>
    </message>
    <message>
        <source>matrix product</source>
        <translation>矩阵乘</translation>
    </message>
    <message>
        <source>convolution, pooling</source>
        <translation>卷积、池化</translation>
    </message>
    <message>
        <source>attention</source>
        <translation>注意力</translation>
    </message>
    <message>
        <source>normalisation</source>
        <translation>归一化</translation>
    </message>
    <message>
        <source>activation</source>
        <translation>激活</translation>
    </message>
    <message>
        <source>elementwise</source>
        <translation>逐元素</translation>
    </message>
    <message>
        <source>shape</source>
        <translation>形状</translation>
    </message>
</context>
<context>
    <name>GraphLights</name>
    <message>
        <source>{nodes} nodes in {items} boxes</source>
        <translation>{items} 个方框中的 {nodes} 个节点</translation>
    </message>
    <message>
        <source>nothing found</source>
        <translation>没有找到</translation>
    </message>
</context>
<context>
    <name>GraphStatus</name>
    <message>
        <source>{nodes} nodes, {edges} edges</source>
        <translation>{nodes} 个节点，{edges} 条边</translation>
    </message>
    <message>
        <source>{size} saved for backward</source>
        <translation>为反向保存 {size}</translation>
    </message>
    <message>
        <source>captured at step {step}</source>
        <translation>捕获于第 {step} 步</translation>
    </message>
    <message>
        <source>{count} steps ago</source>
        <translation>{count} 步之前</translation>
    </message>
    <message>
        <source>1 step ago</source>
        <translation>1 步之前</translation>
    </message>
    <message>
        <source>cut short: the graph is larger than what is captured</source>
        <translation>已截断：计算图大于捕获上限</translation>
    </message>
    <message>
        <source>compiled parts are one node each</source>
        <translation>每个已编译部分显示为一个节点</translation>
    </message>
    <message>
        <source>laying out …</source>
        <translation>正在布局…</translation>
    </message>
</context>
<context>
    <name>GraphView</name>
    <message>
        <source>Graph</source>
        <translation>计算图</translation>
    </message>
    <message>
        <source>The graph could not be laid out: {reason}</source>
        <translation>无法布局计算图：{reason}</translation>
    </message>
    <message>
        <source>Collapse {name}</source>
        <translation>折叠 {name}</translation>
    </message>
    <message>
        <source>Expand {name}</source>
        <translation>展开 {name}</translation>
    </message>
    <message>
        <source>Expand one level inside</source>
        <translation>向内展开一层</translation>
    </message>
    <message>
        <source>Show the way to the loss (L)</source>
        <translation>显示到损失的路径（L）</translation>
    </message>
    <message>
        <source>Show what it was made from (I)</source>
        <translation>显示它由什么得来（I）</translation>
    </message>
    <message>
        <source>Expand one level</source>
        <translation>展开一层</translation>
    </message>
    <message>
        <source>Collapse all</source>
        <translation>全部折叠</translation>
    </message>
    <message>
        <source>Fit</source>
        <translation>适应</translation>
    </message>
    <message>
        <source>no graph is shown</source>
        <translation>没有显示计算图</translation>
    </message>
    <message>
        <source>Autograd graph, inputs at the top, loss at the bottom</source>
        <translation>自动求导图：输入在上，损失在下</translation>
    </message>
</context>
<context>
    <name>LabView</name>
    <message>
        <source>Lab</source>
        <translation>实验室</translation>
    </message>
    <message>
        <source>Asking the target which optimisations apply; it answers after this step.</source>
        <translation>正在询问目标可用哪些优化；这一步之后会回答。</translation>
    </message>
    <message>
        <source>This is a recording: compare what ran. To switch, attach to a live program.</source>
        <translation>这是录制文件：可比较运行过的内容。要切换优化，请附加到运行中的程序。</translation>
    </message>
    <message>
        <source>Attach to a program to switch optimisations in it while it runs.</source>
        <translation>附加到程序后，即可在其运行时切换优化。</translation>
    </message>
    <message>
        <source>The target is gone: nothing can be switched any more.</source>
        <translation>目标已消失：无法再切换。</translation>
    </message>
    <message>
        <source>{name}: block {block} of {blocks}</source>
        <translation>{name}：第 {block} / {blocks} 块</translation>
    </message>
    <message>
        <source>A/B run finished; the optimisation is as it was before.</source>
        <translation>A/B 对比完成；优化已恢复原状。</translation>
    </message>
    <message>
        <source>A/B run stopped; the optimisation is as it was before.</source>
        <translation>A/B 对比已停止；优化已恢复原状。</translation>
    </message>
    <message>
        <source>A/B run ended early: {reason}</source>
        <translation>A/B 对比提前结束：{reason}</translation>
    </message>
    <message>
        <source>the target did not answer</source>
        <translation>目标没有回应</translation>
    </message>
    <message>
        <source>No step has been measured yet.</source>
        <translation>尚未测得任何一步。</translation>
    </message>
    <message>
        <source>Left out: the first {warm_up} steps after each switch (warm-up) and deep steps; both are hollow below. Each block is compared with the plain blocks beside it, so drift cancels.</source>
        <translation>未计入：每次切换后的前 {warm_up} 步（预热）和深度捕获步；二者在下图中为空心。每个块与其相邻的原始块比较，因此漂移相互抵消。</translation>
    </message>
    <message>
        <source>Only the newest steps are compared.</source>
        <translation>只比较最新的步。</translation>
    </message>
    <message>
        <source>All steps</source>
        <translation>全部步</translation>
    </message>
    <message>
        <source>Last A/B run</source>
        <translation>上次 A/B 对比</translation>
    </message>
    <message>
        <source>Steps compared</source>
        <translation>所比较的步</translation>
    </message>
    <message>
        <source>Steps a block</source>
        <translation>每块步数</translation>
    </message>
    <message>
        <source>Block pairs</source>
        <translation>块对数</translation>
    </message>
    <message>
        <source>Stop A/B run</source>
        <translation>停止 A/B 对比</translation>
    </message>
    <message>
        <source>Comparison of variants</source>
        <translation>变体比较</translation>
    </message>
    <message>
        <source>Step time by variant</source>
        <translation>各变体的步耗时</translation>
    </message>
    <message>
        <source>Step time (ms)</source>
        <translation>步耗时 (ms)</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>步</translation>
    </message>
</context>
<context>
    <name>LeaksPanel</name>
    <message>
        <source>Leaks show between steps: at least two complete steps with memory events are needed, and eleven before a verdict.</source>
        <translation>泄漏体现在步与步之间：至少需要两个带内存事件的完整步，十一步之后才能下结论。</translation>
    </message>
    <message>
        <source>leaks</source>
        <translation>泄漏</translation>
    </message>
    <message>
        <source>stays</source>
        <translation>留存</translation>
    </message>
    <message>
        <source>{count} groups leak: {size} a step (steps {first} to {last})</source>
        <translation>{count} 组泄漏：每步 {size}（第 {first} 至 {last} 步）</translation>
    </message>
    <message>
        <source>Nothing leaks: what stays was made once, fills a cache, or waits (steps {first} to {last})</source>
        <translation>没有泄漏：留存的内容是一次性创建、填充缓存或等待回收的（第 {first} 至 {last} 步）</translation>
    </message>
    <message>
        <source>Who holds them can be asked while the program is attached.</source>
        <translation>附加到程序时，可询问由谁持有。</translation>
    </message>
    <message>
        <source>Choose a group to ask the program who holds it.</source>
        <translation>选择一组，即可询问程序由谁持有。</translation>
    </message>
    <message>
        <source>Line</source>
        <translation>代码行</translation>
    </message>
    <message>
        <source>Module</source>
        <translation>模块</translation>
    </message>
    <message>
        <source>Category</source>
        <translation>类别</translation>
    </message>
    <message>
        <source>Verdict</source>
        <translation>诊断</translation>
    </message>
    <message>
        <source>A step</source>
        <translation>每步</translation>
    </message>
    <message>
        <source>In all</source>
        <translation>合计</translation>
    </message>
    <message>
        <source>Blocks</source>
        <translation>内存块</translation>
    </message>
    <message>
        <source>Seen in steps</source>
        <translation>出现的步数</translation>
    </message>
    <message>
        <source>First–last</source>
        <translation>首步–末步</translation>
    </message>
    <message>
        <source>Filter by line, module or category</source>
        <translation>按代码行、模块或类别筛选</translation>
    </message>
    <message>
        <source>Who holds them?</source>
        <translation>谁持有它们？</translation>
    </message>
    <message>
        <source>Asked the program; it answers after this step.</source>
        <translation>已询问程序；这一步之后会回答。</translation>
    </message>
    <message>
        <source>Nothing that the program&apos;s objects lead to: it is gone, or C++ holds it.</source>
        <translation>程序的对象均不指向它：已释放，或由 C++ 持有。</translation>
    </message>
</context>
<context>
    <name>LogPanel</name>
    <message>
        <source>Log</source>
        <translation>日志</translation>
    </message>
    <message>
        <source>Nothing has happened yet.</source>
        <translation>尚无事件。</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>The {view} view could not draw this session: {reason}. Details are in the log.</source>
        <translation>“{view}”视图无法绘制本会话：{reason}。详情见日志。</translation>
    </message>
    <message>
        <source>Something went wrong in the window: {reason}. Details are in the log.</source>
        <translation>窗口出错：{reason}。详情见日志。</translation>
    </message>
    <message>
        <source>Only files on this machine can be dropped here.</source>
        <translation>只能拖入本机上的文件。</translation>
    </message>
    <message>
        <source>Open recent</source>
        <translation>打开最近文件</translation>
    </message>
    <message>
        <source>Toolbar</source>
        <translation>工具栏</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>步</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>Memory details</source>
        <translation>内存详情</translation>
    </message>
    <message>
        <source>Graph</source>
        <translation>计算图</translation>
    </message>
    <message>
        <source>Tensors</source>
        <translation>张量</translation>
    </message>
    <message>
        <source>Lab</source>
        <translation>实验室</translation>
    </message>
    <message>
        <source>Findings</source>
        <translation>发现</translation>
    </message>
    <message>
        <source>Log</source>
        <translation>日志</translation>
    </message>
</context>
<context>
    <name>MapPanel</name>
    <message>
        <source>No memory events are known yet. They are recorded from capture level scope on.</source>
        <translation>尚无内存事件。从范围级捕获开始才会记录。</translation>
    </message>
    <message>
        <source>Allocator event</source>
        <translation>分配器事件</translation>
    </message>
    <message>
        <source>Time since start (s)</source>
        <translation>自开始的时间 (s)</translation>
    </message>
    <message>
        <source>and {count} more</source>
        <translation>以及另外 {count} 个</translation>
    </message>
    <message>
        <source>The wheel zooms time, Ctrl and wheel addresses; drag moves; double click shows all</source>
        <translation>滚轮缩放时间，Ctrl+滚轮缩放地址；拖动平移；双击显示全部</translation>
    </message>
    <message>
        <source>still alive</source>
        <translation>仍存活</translation>
    </message>
    <message>
        <source>its allocation was not seen</source>
        <translation>未见其分配</translation>
    </message>
    <message>
        <source>lives {ms} ms</source>
        <translation>存活 {ms} ms</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>Event number</source>
        <translation>事件序号</translation>
    </message>
    <message>
        <source>What the colour means</source>
        <translation>颜色的含义</translation>
    </message>
    <message>
        <source>Axis</source>
        <translation>坐标轴</translation>
    </message>
    <message>
        <source>Go to selection</source>
        <translation>转到所选</translation>
    </message>
</context>
<context>
    <name>MemoryBar</name>
    <message>
        <source>All devices</source>
        <translation>所有设备</translation>
    </message>
    <message>
        <source>Chosen span</source>
        <translation>所选区间</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>显示</translation>
    </message>
    <message>
        <source>Axis: time</source>
        <translation>坐标轴：时间</translation>
    </message>
    <message>
        <source>Axis: event number</source>
        <translation>坐标轴：事件序号</translation>
    </message>
    <message>
        <source>Process memory (RSS)</source>
        <translation>进程内存 (RSS)</translation>
    </message>
    <message>
        <source>Reserved by the caching allocator</source>
        <translation>缓存分配器的保留量</translation>
    </message>
    <message>
        <source>Device memory in use by all (driver)</source>
        <translation>设备内存：所有进程占用（驱动）</translation>
    </message>
    <message>
        <source>Device memory of this process (NVML)</source>
        <translation>设备内存：本进程占用（NVML）</translation>
    </message>
    <message>
        <source>Annotations of the program</source>
        <translation>程序的标注</translation>
    </message>
    <message>
        <source>Failed allocations</source>
        <translation>失败的分配</translation>
    </message>
    <message>
        <source>Segments taken and given back</source>
        <translation>段的申请与归还</translation>
    </message>
    <message>
        <source>Modules: whole path</source>
        <translation>模块：完整路径</translation>
    </message>
    <message>
        <source>Modules: first part of the path</source>
        <translation>模块：路径首段</translation>
    </message>
    <message>
        <source>Modules: first 2 parts</source>
        <translation>模块：前 2 段</translation>
    </message>
    <message>
        <source>Modules: first 3 parts</source>
        <translation>模块：前 3 段</translation>
    </message>
    <message>
        <source>Find: module, line, 0x address, &gt; 10 MiB</source>
        <translation>查找：模块、代码行、0x 地址、&gt; 10 MiB</translation>
    </message>
    <message>
        <source>Find allocations</source>
        <translation>查找分配</translation>
    </message>
    <message>
        <source>Time window</source>
        <translation>时间窗口</translation>
    </message>
    <message>
        <source>What the stack is made of</source>
        <translation>堆叠的依据</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>设备</translation>
    </message>
    <message>
        <source>Last {count} steps</source>
        <translation>最近 {count} 步</translation>
    </message>
    <message>
        <source>Last step</source>
        <translation>最后一步</translation>
    </message>
    <message>
        <source>All steps</source>
        <translation>全部步</translation>
    </message>
</context>
<context>
    <name>MemoryChart</name>
    <message>
        <source>Step {step}</source>
        <translation>第 {step} 步</translation>
    </message>
    <message>
        <source>Peak {size}</source>
        <translation>峰值 {size}</translation>
    </message>
    <message>
        <source>Process {size}</source>
        <translation>进程 {size}</translation>
    </message>
    <message>
        <source>Reserved {size}</source>
        <translation>保留 {size}</translation>
    </message>
    <message>
        <source>Device, all {size}</source>
        <translation>设备，全部 {size}</translation>
    </message>
    <message>
        <source>Device, process {size}</source>
        <translation>设备，本进程 {size}</translation>
    </message>
</context>
<context>
    <name>MemoryDetailsView</name>
    <message>
        <source>Memory details</source>
        <translation>内存详情</translation>
    </message>
    <message>
        <source>Blocks</source>
        <translation>内存块</translation>
    </message>
    <message>
        <source>Address map</source>
        <translation>地址图</translation>
    </message>
    <message>
        <source>Allocator state</source>
        <translation>分配器状态</translation>
    </message>
    <message>
        <source>Peaks</source>
        <translation>峰值</translation>
    </message>
    <message>
        <source>Leaks</source>
        <translation>泄漏</translation>
    </message>
    <message>
        <source>Saved for backward</source>
        <translation>为反向保存</translation>
    </message>
    <message>
        <source>What would fit</source>
        <translation>怎样才放得下</translation>
    </message>
    <message>
        <source>Verdicts</source>
        <translation>诊断</translation>
    </message>
    <message>
        <source>Compare</source>
        <translation>比较</translation>
    </message>
</context>
<context>
    <name>MemorySearch</name>
    <message>
        <source>Looking …</source>
        <translation>正在查找…</translation>
    </message>
    <message>
        <source>Nothing found for “{text}”</source>
        <translation>未找到“{text}”</translation>
    </message>
    <message>
        <source>Found {number} of {count}, {size} in all · F3: next, Shift+F3: previous</source>
        <translation>找到 {count} 个中的第 {number} 个，共 {size} · F3：下一个，Shift+F3：上一个</translation>
    </message>
    <message>
        <source>{count} allocations found, {size} in all · Enter or F3 goes to the next</source>
        <translation>找到 {count} 次分配，共 {size} · 按 Enter 或 F3 转到下一个</translation>
    </message>
</context>
<context>
    <name>MemorySide</name>
    <message>
        <source>Series</source>
        <translation>系列</translation>
    </message>
    <message>
        <source>Blocks</source>
        <translation>内存块</translation>
    </message>
    <message>
        <source>Selected</source>
        <translation>所选</translation>
    </message>
</context>
<context>
    <name>MemoryTexts</name>
    <message>
        <source>Nothing is known of this time</source>
        <translation>此时刻没有数据</translation>
    </message>
    <message>
        <source>step {step}</source>
        <translation>第 {step} 步</translation>
    </message>
    <message>
        <source>total {size}</source>
        <translation>合计 {size}</translation>
    </message>
    <message>
        <source>allocates {size}</source>
        <translation>分配 {size}</translation>
    </message>
    <message>
        <source>frees {size}</source>
        <translation>释放 {size}</translation>
    </message>
    <message>
        <source>differs from the recorder&apos;s own total by {size}</source>
        <translation>与记录器自身总量相差 {size}</translation>
    </message>
    <message>
        <source>table: at the peak</source>
        <translation>表：峰值处</translation>
    </message>
    <message>
        <source>table: at {time} s</source>
        <translation>表：{time} s 处</translation>
    </message>
    <message>
        <source>No block at 0x{address:x} is known</source>
        <translation>未知地址 0x{address:x} 处的块</translation>
    </message>
    <message>
        <source>Click the chart to select a block</source>
        <translation>单击图表以选择内存块</translation>
    </message>
    <message>
        <source>lost in a gap</source>
        <translation>在空档中丢失</translation>
    </message>
    <message>
        <source>there before the recording</source>
        <translation>记录开始前已存在</translation>
    </message>
    <message>
        <source>still alive</source>
        <translation>仍存活</translation>
    </message>
    <message>
        <source>freed {time} ms later</source>
        <translation>{time} 毫秒后释放</translation>
    </message>
    <message>
        <source>after {time} ms</source>
        <translation>存活 {time} 毫秒后</translation>
    </message>
    <message>
        <source>“{name}” begins</source>
        <translation>“{name}”开始</translation>
    </message>
    <message>
        <source>a request of {size} failed</source>
        <translation>申请 {size} 失败</translation>
    </message>
    <message>
        <source>{size} reserved ({action})</source>
        <translation>保留了 {size}（{action}）</translation>
    </message>
    <message>
        <source>{size} given back ({action})</source>
        <translation>归还了 {size}（{action}）</translation>
    </message>
    <message>
        <source>Allocator bytes, exact · events in view: {events} · peak {peak}</source>
        <translation>分配器字节（精确）· 视图内事件数：{events} · 峰值 {peak}</translation>
    </message>
    <message>
        <source>{size} · {category} · {name} · 0x{address:x} · {begin} → {end}</source>
        <translation>{size} · {category} · {name} · 0x{address:x} · {begin} → {end}</translation>
    </message>
    <message>
        <source>before the recording</source>
        <translation>录制之前</translation>
    </message>
    <message>
        <source>step {step} {phase} {time} s</source>
        <translation>第 {step} 步 {phase} {time} s</translation>
    </message>
    <message>
        <source>{count} blocks alive at the peak ({time} s), largest first</source>
        <translation>峰值时 ({time} s) 有 {count} 个块存活，大者在前</translation>
    </message>
    <message>
        <source>{count} blocks alive at {time} s, largest first</source>
        <translation>{time} s 时有 {count} 个块存活，大者在前</translation>
    </message>
    <message>
        <source>Reading memory events: {percent} %</source>
        <translation>正在读取内存事件：{percent} %</translation>
    </message>
    <message>
        <source>No allocator recorder is running in the target.</source>
        <translation>目标中没有运行分配器记录器。</translation>
    </message>
    <message>
        <source>Memory events are recorded from level scope on. Raise the capture level.</source>
        <translation>从范围级起才记录内存事件。请提高捕获级别。</translation>
    </message>
    <message>
        <source>Waiting for the first memory events.</source>
        <translation>正在等待第一批内存事件。</translation>
    </message>
    <message>
        <source>Attach to a program or open a session file to see its memory.</source>
        <translation>附加到程序或打开会话文件以查看其内存。</translation>
    </message>
</context>
<context>
    <name>MemoryView</name>
    <message>
        <source>Memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>Live bytes over time, stacked</source>
        <translation>存活字节随时间变化（堆叠）</translation>
    </message>
    <message>
        <source>Time since start (s)</source>
        <translation>自开始的时间 (s)</translation>
    </message>
    <message>
        <source>Allocator event</source>
        <translation>分配器事件</translation>
    </message>
    <message>
        <source>Live allocator bytes</source>
        <translation>分配器存活字节</translation>
    </message>
</context>
<context>
    <name>Names</name>
    <message>
        <source>Parameters</source>
        <translation>参数</translation>
    </message>
    <message>
        <source>Gradients</source>
        <translation>梯度</translation>
    </message>
    <message>
        <source>Optimizer state</source>
        <translation>优化器状态</translation>
    </message>
    <message>
        <source>Buffers</source>
        <translation>缓冲区</translation>
    </message>
    <message>
        <source>Inputs</source>
        <translation>输入</translation>
    </message>
    <message>
        <source>Activations</source>
        <translation>激活值</translation>
    </message>
    <message>
        <source>Temporary</source>
        <translation>临时</translation>
    </message>
    <message>
        <source>Unknown</source>
        <translation>未知</translation>
    </message>
    <message>
        <source>Other</source>
        <translation>其他</translation>
    </message>
    <message>
        <source>Forward</source>
        <translation>前向</translation>
    </message>
    <message>
        <source>Backward</source>
        <translation>反向</translation>
    </message>
    <message>
        <source>Optimizer</source>
        <translation>优化器</translation>
    </message>
    <message>
        <source>CPU</source>
        <translation>CPU</translation>
    </message>
    <message>
        <source>CUDA {index}</source>
        <translation>CUDA {index}</translation>
    </message>
    <message>
        <source>Plain</source>
        <translation>原始</translation>
    </message>
</context>
<context>
    <name>NoticeBar</name>
    <message>
        <source>{n} more</source>
        <translation>另有 {n} 条</translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Dismiss this notice</source>
        <translation>关闭此通知</translation>
    </message>
</context>
<context>
    <name>OpeningBar</name>
    <message>
        <source>Opening {name}</source>
        <translation>正在打开 {name}</translation>
    </message>
    <message>
        <source>How far the opening is</source>
        <translation>打开的进度</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
</context>
<context>
    <name>PeaksPanel</name>
    <message>
        <source>No memory events are known yet. They are recorded from capture level scope on.</source>
        <translation>尚无内存事件。从范围级捕获开始才会记录。</translation>
    </message>
    <message>
        <source>Without what lives less than {ms} ms, the highest peak would be {size} lower ({lower}).</source>
        <translation>若不计寿命不足 {ms} ms 的块，最高峰值将低 {size}（为 {lower}）。</translation>
    </message>
    <message>
        <source>Peaks between which the total falls by at least {share} % of the highest.</source>
        <translation>峰值之间总量至少下降最高值的 {share} %。</translation>
    </message>
    <message>
        <source>Alive at peak {number}: {size} in {count} blocks</source>
        <translation>峰值 {number} 处存活：{size}，共 {count} 块</translation>
    </message>
    <message>
        <source>Peak</source>
        <translation>峰值</translation>
    </message>
    <message>
        <source>Live bytes</source>
        <translation>存活字节</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>步</translation>
    </message>
    <message>
        <source>Phase</source>
        <translation>阶段</translation>
    </message>
    <message>
        <source>Line</source>
        <translation>代码行</translation>
    </message>
    <message>
        <source>Category</source>
        <translation>类别</translation>
    </message>
    <message>
        <source>Module</source>
        <translation>模块</translation>
    </message>
    <message>
        <source>Bytes</source>
        <translation>字节</translation>
    </message>
    <message>
        <source>Share</source>
        <translation>占比</translation>
    </message>
    <message>
        <source>Blocks</source>
        <translation>内存块</translation>
    </message>
    <message>
        <source>Momentary</source>
        <translation>瞬时</translation>
    </message>
    <message>
        <source>Filter by line, category or module</source>
        <translation>按代码行、类别或模块筛选</translation>
    </message>
</context>
<context>
    <name>RangeDialog</name>
    <message>
        <source>Which part of {name}?</source>
        <translation>读取 {name} 的哪一部分？</translation>
    </message>
    <message>
        <source>The file holds {events} allocator events over {seconds} s.</source>
        <translation>文件含 {events} 个分配器事件，历时 {seconds} s。</translation>
    </message>
    <message>
        <source>All of it</source>
        <translation>全部</translation>
    </message>
    <message>
        <source>Events</source>
        <translation>事件</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>步</translation>
    </message>
    <message>
        <source>from</source>
        <translation>从</translation>
    </message>
    <message>
        <source>to</source>
        <translation>到</translation>
    </message>
</context>
<context>
    <name>SavedPanel</name>
    <message>
        <source>No deep step has been captured: it records the graph with what each node saves. Ask for one with Deep step.</source>
        <translation>尚未捕获深度步：它会记录计算图及每个节点保存的内容。请用“深度捕获步”请求一次。</translation>
    </message>
    <message>
        <source>(whole model)</source>
        <translation>（整个模型）</translation>
    </message>
    <message>
        <source>Step {step}: {size} saved for backward, peak {peak}. With a checkpoint: predicted.</source>
        <translation>第 {step} 步：为反向保存 {size}，峰值 {peak}。检查点效果为预测值。</translation>
    </message>
    <message>
        <source>Module</source>
        <translation>模块</translation>
    </message>
    <message>
        <source>Saved</source>
        <translation>已保存</translation>
    </message>
    <message>
        <source>Share</source>
        <translation>占比</translation>
    </message>
    <message>
        <source>Own</source>
        <translation>自身</translation>
    </message>
    <message>
        <source>Tensors</source>
        <translation>张量数</translation>
    </message>
    <message>
        <source>Checkpoint drops</source>
        <translation>检查点可省</translation>
    </message>
    <message>
        <source>Predicted peak</source>
        <translation>预测峰值</translation>
    </message>
    <message>
        <source>Difference</source>
        <translation>差值</translation>
    </message>
    <message>
        <source>Forward again</source>
        <translation>重算前向</translation>
    </message>
    <message>
        <source>Filter by module</source>
        <translation>按模块筛选</translation>
    </message>
    <message>
        <source>Peak to reach (MiB)</source>
        <translation>目标峰值 (MiB)</translation>
    </message>
    <message>
        <source>Which modules to checkpoint for a peak of your choice.</source>
        <translation>输入期望的峰值，查看应对哪些模块做检查点。</translation>
    </message>
    <message>
        <source>{text} is not a number of MiB.</source>
        <translation>{text} 不是以 MiB 计的数值。</translation>
    </message>
    <message>
        <source>The peak is below that already.</source>
        <translation>峰值已低于该值。</translation>
    </message>
    <message>
        <source>No checkpoint helps here.</source>
        <translation>此处检查点无济于事。</translation>
    </message>
    <message>
        <source>Checkpoint {modules}: about {size} less, about {ms} ms more a step.</source>
        <translation>对 {modules} 做检查点：约少 {size}，每步约多 {ms} ms。</translation>
    </message>
    <message>
        <source>Not enough, but nearest: {modules}: about {size} less, about {ms} ms more a step.</source>
        <translation>仍不够，但最接近：{modules}：约少 {size}，每步约多 {ms} ms。</translation>
    </message>
</context>
<context>
    <name>SegmentMap</name>
    <message>
        <source>freed, waits for another stream</source>
        <translation>已释放，等待其他流</translation>
    </message>
    <message>
        <source>in use</source>
        <translation>使用中</translation>
    </message>
    <message>
        <source>{requested} asked for, {size} taken · {state} · 0x{address:x}</source>
        <translation>请求 {requested}，占用 {size} · {state} · 0x{address:x}</translation>
    </message>
</context>
<context>
    <name>SeriesLegend</name>
    <message>
        <source>Total</source>
        <translation>合计</translation>
    </message>
    <message>
        <source>At the peak</source>
        <translation>峰值处</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>固定</translation>
    </message>
    <message>
        <source>At mouse</source>
        <translation>鼠标处</translation>
    </message>
    <message>
        <source>Share</source>
        <translation>占比</translation>
    </message>
    <message>
        <source>Show or hide {category}</source>
        <translation>显示或隐藏{category}</translation>
    </message>
</context>
<context>
    <name>SeriesNames</name>
    <message>
        <source>Category</source>
        <translation>类别</translation>
    </message>
    <message>
        <source>Module</source>
        <translation>模块</translation>
    </message>
    <message>
        <source>Phase</source>
        <translation>阶段</translation>
    </message>
    <message>
        <source>Line of code</source>
        <translation>代码行</translation>
    </message>
    <message>
        <source>Stream</source>
        <translation>流</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>设备</translation>
    </message>
    <message>
        <source>Pool</source>
        <translation>池</translation>
    </message>
    <message>
        <source>{count} others</source>
        <translation>其余 {count} 项</translation>
    </message>
    <message>
        <source>Before</source>
        <translation>此前</translation>
    </message>
    <message>
        <source>Default stream</source>
        <translation>默认流</translation>
    </message>
    <message>
        <source>Stream {n}</source>
        <translation>流 {n}</translation>
    </message>
    <message>
        <source>Default pool</source>
        <translation>默认池</translation>
    </message>
    <message>
        <source>Outside of modules</source>
        <translation>模块之外</translation>
    </message>
    <message>
        <source>Stack not recorded</source>
        <translation>未记录调用栈</translation>
    </message>
</context>
<context>
    <name>SessionController</name>
    <message>
        <source>There is no live program to do that to.</source>
        <translation>没有可对其执行此操作的运行中程序。</translation>
    </message>
    <message>
        <source>Recorded {path}</source>
        <translation>已录制 {path}</translation>
    </message>
    <message>
        <source>Everything received until then is kept.</source>
        <translation>此前收到的内容全部保留。</translation>
    </message>
    <message>
        <source>The program is not attached any more.</source>
        <translation>程序已不再附加。</translation>
    </message>
</context>
<context>
    <name>ShortcutsDialog</name>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>键盘快捷键</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>按键</translation>
    </message>
    <message>
        <source>What it does</source>
        <translation>作用</translation>
    </message>
    <message>
        <source>Show the first to the seventh panel</source>
        <translation>显示第一至第七个面板</translation>
    </message>
    <message>
        <source>Zoom a chart in and out</source>
        <translation>放大和缩小图表</translation>
    </message>
    <message>
        <source>Move a chart left and right</source>
        <translation>左右移动图表</translation>
    </message>
    <message>
        <source>Fit everything into the view</source>
        <translation>显示全部内容</translation>
    </message>
    <message>
        <source>Previous and next memory peak</source>
        <translation>上一个和下一个内存峰值</translation>
    </message>
    <message>
        <source>Search in the graph</source>
        <translation>在计算图中查找</translation>
    </message>
</context>
<context>
    <name>StatusPanel</name>
    <message>
        <source>step {n}</source>
        <translation>第 {n} 步</translation>
    </message>
    <message>
        <source>dropped {n}</source>
        <translation>丢弃 {n}</translation>
    </message>
    <message>
        <source>memory: {kind}</source>
        <translation>内存：{kind}</translation>
    </message>
    <message>
        <source>File</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>Connecting…</source>
        <translation>正在连接…</translation>
    </message>
    <message>
        <source>Live</source>
        <translation>实时</translation>
    </message>
    <message>
        <source>Paused</source>
        <translation>已暂停</translation>
    </message>
    <message>
        <source>Ended</source>
        <translation>已结束</translation>
    </message>
    <message>
        <source>Lost</source>
        <translation>已断开</translation>
    </message>
    <message>
        <source>recording</source>
        <translation>录制中</translation>
    </message>
    <message>
        <source>{script} (pid {pid}, torch {torch})</source>
        <translation>{script}（进程 {pid}，torch {torch}）</translation>
    </message>
    <message>
        <source>level {name}</source>
        <translation>级别 {name}</translation>
    </message>
    <message>
        <source>overhead {value}</source>
        <translation>开销 {value}</translation>
    </message>
</context>
<context>
    <name>StepBar</name>
    <message>
        <source>Step</source>
        <translation>步</translation>
    </message>
    <message>
        <source>Step that every view shows</source>
        <translation>所有视图显示的步</translation>
    </message>
    <message>
        <source>Number of the step that every view shows</source>
        <translation>所有视图显示的步的编号</translation>
    </message>
</context>
<context>
    <name>StepsView</name>
    <message>
        <source>Steps</source>
        <translation>步</translation>
    </message>
    <message>
        <source>Step {step}: {time} ({phases})</source>
        <translation>第 {step} 步：{time}（{phases}）</translation>
    </message>
    <message>
        <source>loss {loss}</source>
        <translation>损失 {loss}</translation>
    </message>
    <message>
        <source>peak {size}</source>
        <translation>峰值 {size}</translation>
    </message>
    <message>
        <source>process {size}</source>
        <translation>进程 {size}</translation>
    </message>
    <message>
        <source>agent {time}</source>
        <translation>代理 {time}</translation>
    </message>
    <message>
        <source>gradient norm {norm}</source>
        <translation>梯度范数 {norm}</translation>
    </message>
    <message>
        <source>deep capture</source>
        <translation>深度捕获</translation>
    </message>
    <message>
        <source>{count} steps · median {median} · p95 {p95} · agent {agent}</source>
        <translation>{count} 步 · 中位数 {median} · p95 {p95} · 代理 {agent}</translation>
    </message>
    <message>
        <source>sampled</source>
        <translation>抽样</translation>
    </message>
    <message>
        <source>Chosen span</source>
        <translation>所选区间</translation>
    </message>
    <message>
        <source>Waiting for the first step: it ends when an optimizer has stepped.</source>
        <translation>正在等待第一步：优化器更新后即告结束。</translation>
    </message>
    <message>
        <source>Attach to a program or open a session file to see its steps.</source>
        <translation>附加到程序或打开会话文件以查看其步。</translation>
    </message>
    <message>
        <source>Last {count} steps</source>
        <translation>最近 {count} 步</translation>
    </message>
    <message>
        <source>All steps</source>
        <translation>全部步</translation>
    </message>
    <message>
        <source>Step window</source>
        <translation>步窗口</translation>
    </message>
    <message>
        <source>Step time (ms)</source>
        <translation>步耗时 (ms)</translation>
    </message>
    <message>
        <source>Loss</source>
        <translation>损失</translation>
    </message>
    <message>
        <source>Peak memory</source>
        <translation>内存峰值</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>步</translation>
    </message>
</context>
<context>
    <name>StorageStrip</name>
    <message>
        <source>Storage</source>
        <translation>存储</translation>
    </message>
    <message>
        <source>and {count} more tensors in this storage</source>
        <translation>此存储中另有 {count} 个张量</translation>
    </message>
</context>
<context>
    <name>TensorItemModel</name>
    <message>
        <source>yes</source>
        <translation>是</translation>
    </message>
    <message>
        <source>no</source>
        <translation>否</translation>
    </message>
    <message>
        <source>In bytes: {strides}</source>
        <translation>以字节计：{strides}</translation>
    </message>
    <message>
        <source>Storage at 0x{address:x}</source>
        <translation>位于 0x{address:x} 的存储</translation>
    </message>
    <message>
        <source>{count} bytes</source>
        <translation>{count} 字节</translation>
    </message>
</context>
<context>
    <name>TensorNames</name>
    <message>
        <source>Parameter</source>
        <translation>参数</translation>
    </message>
    <message>
        <source>Gradient</source>
        <translation>梯度</translation>
    </message>
    <message>
        <source>Optimizer state</source>
        <translation>优化器状态</translation>
    </message>
    <message>
        <source>Buffer</source>
        <translation>缓冲区</translation>
    </message>
    <message>
        <source>Input</source>
        <translation>输入</translation>
    </message>
    <message>
        <source>Activation</source>
        <translation>激活值</translation>
    </message>
    <message>
        <source>Saved for backward</source>
        <translation>为反向保存</translation>
    </message>
    <message>
        <source>Named</source>
        <translation>已命名</translation>
    </message>
    <message>
        <source>scalar</source>
        <translation>标量</translation>
    </message>
    <message>
        <source>contiguous</source>
        <translation>连续</translation>
    </message>
    <message>
        <source>channels last</source>
        <translation>通道在后</translation>
    </message>
    <message>
        <source>transposed</source>
        <translation>转置</translation>
    </message>
    <message>
        <source>sliced</source>
        <translation>切片</translation>
    </message>
    <message>
        <source>expanded</source>
        <translation>扩展</translation>
    </message>
    <message>
        <source>overlapping</source>
        <translation>重叠</translation>
    </message>
    <message>
        <source>One element.</source>
        <translation>一个元素。</translation>
    </message>
    <message>
        <source>Elements lie in order, without gaps.</source>
        <translation>元素按顺序排列，没有间隙。</translation>
    </message>
    <message>
        <source>Dense, with the channel axis innermost.</source>
        <translation>紧密排列，通道轴在最内层。</translation>
    </message>
    <message>
        <source>Elements do not lie in index order: a row walk jumps through memory.</source>
        <translation>元素不按索引顺序排列：按行遍历会在内存中跳跃。</translation>
    </message>
    <message>
        <source>Elements lie in order, with gaps between them.</source>
        <translation>元素按顺序排列，之间有间隙。</translation>
    </message>
    <message>
        <source>An axis of stride 0 repeats the same elements without storing them again.</source>
        <translation>步长为 0 的轴重复相同元素而不再次存储。</translation>
    </message>
    <message>
        <source>Several indices share a place: writing to one changes the others.</source>
        <translation>多个索引共用一个位置：写入其一会改变其余。</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>Role</source>
        <translation>角色</translation>
    </message>
    <message>
        <source>Shape</source>
        <translation>形状</translation>
    </message>
    <message>
        <source>Dtype</source>
        <translation>数据类型</translation>
    </message>
    <message>
        <source>Stride (elems)</source>
        <translation>步长（元素）</translation>
    </message>
    <message>
        <source>Offset (elems)</source>
        <translation>偏移（元素）</translation>
    </message>
    <message>
        <source>Storage</source>
        <translation>存储</translation>
    </message>
    <message>
        <source>Tensor bytes</source>
        <translation>张量字节</translation>
    </message>
    <message>
        <source>Storage bytes</source>
        <translation>存储字节</translation>
    </message>
    <message>
        <source>Layout</source>
        <translation>布局</translation>
    </message>
    <message>
        <source>Shared by</source>
        <translation>共享数</translation>
    </message>
    <message>
        <source>Requires grad</source>
        <translation>需要梯度</translation>
    </message>
    <message>
        <source>grad_fn</source>
        <translation>grad_fn</translation>
    </message>
</context>
<context>
    <name>TensorPanel</name>
    <message>
        <source>No values: {reason}</source>
        <translation>没有数值：{reason}</translation>
    </message>
    <message>
        <source>(also {others})</source>
        <translation>（还有 {others}）</translation>
    </message>
    <message>
        <source>Byte {byte}: no element of this tensor lies here</source>
        <translation>字节 {byte}：此处没有该张量的元素</translation>
    </message>
    <message>
        <source>Hover over the grid or the strip: each shows where the other lies</source>
        <translation>将鼠标移到网格或存储条上：二者互相指示对应位置</translation>
    </message>
    <message>
        <source>{index}: offset {total} = element {place}, byte {first} of {whole}</source>
        <translation>{index}：偏移 {total} = 元素 {place}，字节 {first} / {whole}</translation>
    </message>
    <message>
        <source>No other tensor reads this place</source>
        <translation>没有其他张量读取此位置</translation>
    </message>
    <message>
        <source>The same bytes are {others}</source>
        <translation>相同字节为 {others}</translation>
    </message>
    <message>
        <source>Select a tensor to see how it lies in its storage</source>
        <translation>选择一个张量，查看它在存储中的排列</translation>
    </message>
    <message>
        <source>What was reported of this tensor reaches outside of its storage; it is not drawn.</source>
        <translation>该张量上报的范围超出其存储，未绘制。</translation>
    </message>
    <message>
        <source>This tensor has no storage of its own.</source>
        <translation>该张量没有自己的存储。</translation>
    </message>
    <message>
        <source>strides {strides}</source>
        <translation>步长 {strides}</translation>
    </message>
    <message>
        <source>reads {share}% of a storage of {size}</source>
        <translation>读取 {size} 存储的 {share}%</translation>
    </message>
    <message>
        <source>{size} not reachable</source>
        <translation>{size} 不可达</translation>
    </message>
    <message>
        <source>each place repeated {count} times</source>
        <translation>每个位置重复 {count} 次</translation>
    </message>
    <message>
        <source>Read values</source>
        <translation>读取数值</translation>
    </message>
    <message>
        <source>Read the visible part from the program at its next step boundary</source>
        <translation>在程序的下一个步边界读取可见部分</translation>
    </message>
    <message>
        <source>Values can be read only from a running program that is attached</source>
        <translation>只能从已附加的运行中程序读取数值</translation>
    </message>
    <message>
        <source>Elements of the tensor, coloured by their place in the storage</source>
        <translation>张量的元素，按其在存储中的位置着色</translation>
    </message>
    <message>
        <source>Bytes of the storage and the tensors that lie in it</source>
        <translation>存储的字节及位于其中的张量</translation>
    </message>
</context>
<context>
    <name>TensorView</name>
    <message>
        <source>Tensors</source>
        <translation>张量</translation>
    </message>
    <message>
        <source>{shown} of {all} tensors · captured at step {step}</source>
        <translation>{shown} / {all} 个张量 · 捕获于第 {step} 步</translation>
    </message>
    <message>
        <source>{count} steps ago</source>
        <translation>{count} 步之前</translation>
    </message>
    <message>
        <source>Find by name</source>
        <translation>按名称查找</translation>
    </message>
    <message>
        <source>Find tensors by name</source>
        <translation>按名称查找张量</translation>
    </message>
    <message>
        <source>All roles</source>
        <translation>全部角色</translation>
    </message>
    <message>
        <source>All layouts</source>
        <translation>全部布局</translation>
    </message>
    <message>
        <source>Role</source>
        <translation>角色</translation>
    </message>
    <message>
        <source>Layout</source>
        <translation>布局</translation>
    </message>
    <message>
        <source>Tensors of the captured step</source>
        <translation>所捕获步的张量</translation>
    </message>
</context>
<context>
    <name>ToggleRow</name>
    <message>
        <source>Switch off</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Switch on</source>
        <translation>开启</translation>
    </message>
    <message>
        <source>Run A/B</source>
        <translation>运行 A/B</translation>
    </message>
    <message>
        <source>The target refused: {reason}</source>
        <translation>目标拒绝：{reason}</translation>
    </message>
    <message>
        <source>Waiting for the next step boundary…</source>
        <translation>正在等待下一个步边界…</translation>
    </message>
    <message>
        <source>Not applicable: {reason}</source>
        <translation>不适用：{reason}</translation>
    </message>
    <message>
        <source>On</source>
        <translation>开</translation>
    </message>
    <message>
        <source>Off</source>
        <translation>关</translation>
    </message>
    <message>
        <source>On since step {step}</source>
        <translation>自第 {step} 步开启</translation>
    </message>
    <message>
        <source>Off since step {step}</source>
        <translation>自第 {step} 步关闭</translation>
    </message>
</context>
<context>
    <name>VariantItemModel</name>
    <message>
        <source>Variant</source>
        <translation>变体</translation>
    </message>
    <message>
        <source>Verdict</source>
        <translation>结论</translation>
    </message>
    <message>
        <source>Time ÷ plain</source>
        <translation>耗时 ÷ 原始</translation>
    </message>
    <message>
        <source>Median step (ms)</source>
        <translation>中位步耗时 (ms)</translation>
    </message>
    <message>
        <source>95 % interval (ms)</source>
        <translation>95 % 区间 (ms)</translation>
    </message>
    <message>
        <source>p95 (ms)</source>
        <translation>p95 (ms)</translation>
    </message>
    <message>
        <source>Peak memory</source>
        <translation>内存峰值</translation>
    </message>
    <message>
        <source>Loss (median)</source>
        <translation>损失（中位数）</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>步</translation>
    </message>
    <message>
        <source>Left out</source>
        <translation>未计入</translation>
    </message>
    <message>
        <source>{count} warm-up</source>
        <translation>{count} 预热</translation>
    </message>
    <message>
        <source>{count} deep</source>
        <translation>{count} 深度</translation>
    </message>
    <message>
        <source>the baseline</source>
        <translation>基线</translation>
    </message>
    <message>
        <source>{count} of {needed} block pairs needed to tell</source>
        <translation>{count} / {needed} 个块对，尚不足以判断</translation>
    </message>
    <message>
        <source>no difference seen (smallest visible effect {percent} %)</source>
        <translation>未见差异（可见的最小效应 {percent} %）</translation>
    </message>
    <message>
        <source>{percent} % less time than plain</source>
        <translation>比原始少用 {percent} % 的时间</translation>
    </message>
    <message>
        <source>slower here: {percent} % more time than plain</source>
        <translation>此处更慢：比原始多用 {percent} % 的时间</translation>
    </message>
</context>
<context>
    <name>VerdictTexts</name>
    <message>
        <source>Note</source>
        <translation>提示</translation>
    </message>
    <message>
        <source>Warning</source>
        <translation>警告</translation>
    </message>
    <message>
        <source>Problem</source>
        <translation>问题</translation>
    </message>
    <message>
        <source>Out of memory: {requested} asked for, and {used} of {room} were live.</source>
        <translation>内存不足：请求 {requested}，而 {room} 中已有 {used} 存活。</translation>
    </message>
    <message>
        <source>Out of memory by fragmentation: {requested} asked for, {idle} idle, but no free block over {own}.</source>
        <translation>碎片导致内存不足：请求 {requested}，闲置 {idle}，但没有大于 {own} 的空闲块。</translation>
    </message>
    <message>
        <source>Out of memory beside free memory: {requested} asked for, {elsewhere} free in one piece in {places}.</source>
        <translation>有空闲却内存不足：请求 {requested}，而 {places} 中有整块空闲 {elsewhere}。</translation>
    </message>
    <message>
        <source>Out of memory while frees waited: {requested} asked for, {pending} freed but held for another stream.</source>
        <translation>释放仍在等待时内存不足：请求 {requested}，已释放但为其他流滞留 {pending}。</translation>
    </message>
    <message>
        <source>Out of memory while a private pool held {pool} ({places}).</source>
        <translation>私有池占有 {pool} 时内存不足（{places}）。</translation>
    </message>
    <message>
        <source>Out of memory by others: {outside} of the device are not PyTorch&apos;s in this process.</source>
        <translation>被其他占用导致内存不足：设备上有 {outside} 不属于本进程的 PyTorch。</translation>
    </message>
    <message>
        <source>Out of memory: {requested} asked for; the trace does not say why.</source>
        <translation>内存不足：请求 {requested}；历史中看不出原因。</translation>
    </message>
    <message>
        <source>{idle} of {reserved} reserved are idle; empty_cache would release {releasable}.</source>
        <translation>{reserved} 保留量中有 {idle} 闲置；empty_cache 可释放 {releasable}。</translation>
    </message>
    <message>
        <source>Segments were given back and taken again {cycles} times ({given} in all).</source>
        <translation>段被归还又重新申请 {cycles} 次（合计 {given}）。</translation>
    </message>
    <message>
        <source>Up to {held} were freed but waited for other streams ({places}).</source>
        <translation>最多有 {held} 已释放但仍在等待其他流（{places}）。</translation>
    </message>
    <message>
        <source>The live blocks fill the device: the lines below hold most. Checkpoint what keeps most for backward, use bf16, or make the batch smaller.</source>
        <translation>存活的块占满了设备：下列代码行占得最多。请对为反向保存最多的部分做检查点、使用 bf16，或减小批量。</translation>
    </message>
    <message>
        <source>The lines below hold blocks in segments that are mostly empty. Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or see What would fit.</source>
        <translation>下列代码行占着大部分为空的段中的块。请设置 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True，或查看“怎样才放得下”。</translation>
    </message>
    <message>
        <source>Free blocks serve only their own stream and pool. Use fewer streams, or empty_cache before the switch.</source>
        <translation>空闲块只服务于自己的流和池。请减少流的数量，或在切换前调用 empty_cache。</translation>
    </message>
    <message>
        <source>record_stream keeps blocks until the other stream has caught up: synchronise or wait on an event sooner.</source>
        <translation>record_stream 会保留内存块直到另一个流赶上：请更早同步或等待事件。</translation>
    </message>
    <message>
        <source>CUDA graphs and memory pools keep what they have taken: release the graph, or share one pool.</source>
        <translation>CUDA 图和内存池会保留已占用的内存：请释放该图，或共用一个池。</translation>
    </message>
    <message>
        <source>Other processes or libraries use the device: look at it with nvidia-smi.</source>
        <translation>其他进程或库占用了设备：请用 nvidia-smi 查看。</translation>
    </message>
    <message>
        <source>Record with a longer history (max_entries), so that the trace is whole.</source>
        <translation>请用更长的历史（max_entries）记录，使跟踪完整。</translation>
    </message>
    <message>
        <source>It is kept to be used again, and harms only others on the device.</source>
        <translation>保留它是为了再次使用，只会影响设备上的其他程序。</translation>
    </message>
    <message>
        <source>Each time the device is waited for. Leave more room, or set expandable_segments:True.</source>
        <translation>每次都要等待设备。请留出更多余量，或设置 expandable_segments:True。</translation>
    </message>
    <message>
        <source>The lines below own the blocks: wait on the other stream sooner.</source>
        <translation>下列代码行拥有这些块：请更早等待另一个流。</translation>
    </message>
    <message>
        <source>(The state at the end of the file is another: most had been let go by then.)</source>
        <translation>（文件末尾的状态已不同：那时大部分已被释放。）</translation>
    </message>
    <message>
        <source>Asked for</source>
        <translation>请求</translation>
    </message>
    <message>
        <source>Rounded up</source>
        <translation>取整后</translation>
    </message>
    <message>
        <source>New segment needed</source>
        <translation>所需新段</translation>
    </message>
    <message>
        <source>Free on the device</source>
        <translation>设备空闲</translation>
    </message>
    <message>
        <source>Reserved</source>
        <translation>已保留</translation>
    </message>
    <message>
        <source>In use</source>
        <translation>使用中</translation>
    </message>
    <message>
        <source>Waiting for a stream</source>
        <translation>等待流</translation>
    </message>
    <message>
        <source>Idle</source>
        <translation>闲置</translation>
    </message>
    <message>
        <source>Largest free block, same domain</source>
        <translation>最大空闲块（同一域）</translation>
    </message>
    <message>
        <source>Largest free block, elsewhere</source>
        <translation>最大空闲块（其他域）</translation>
    </message>
    <message>
        <source>In private pools</source>
        <translation>私有池中</translation>
    </message>
    <message>
        <source>Lost to rounding</source>
        <translation>取整损失</translation>
    </message>
    <message>
        <source>Outside of PyTorch</source>
        <translation>PyTorch 之外</translation>
    </message>
    <message>
        <source>Releasable</source>
        <translation>可释放</translation>
    </message>
    <message>
        <source>Largest free block</source>
        <translation>最大空闲块</translation>
    </message>
    <message>
        <source>Pinned by little</source>
        <translation>被少量占用钉住</translation>
    </message>
    <message>
        <source>Times</source>
        <translation>次数</translation>
    </message>
    <message>
        <source>Given back</source>
        <translation>归还</translation>
    </message>
    <message>
        <source>Taken again</source>
        <translation>重新申请</translation>
    </message>
    <message>
        <source>Time between</source>
        <translation>间隔时间</translation>
    </message>
    <message>
        <source>Held at most</source>
        <translation>最多滞留</translation>
    </message>
    <message>
        <source>Blocks</source>
        <translation>内存块</translation>
    </message>
    <message>
        <source>Held over time</source>
        <translation>滞留量×时间</translation>
    </message>
    <message>
        <source>Longest wait</source>
        <translation>最长等待</translation>
    </message>
    <message>
        <source>Typical wait</source>
        <translation>典型等待</translation>
    </message>
</context>
<context>
    <name>VerdictsPanel</name>
    <message>
        <source>Nothing found: no request failed, no memory was given back only to be asked for again, no block waited for another stream, and less than half of what was reserved lay idle at the end.</source>
        <translation>没有发现问题：没有失败的请求，没有内存刚归还又被重新申请，没有内存块等待其他流，结束时闲置的保留内存不到一半。</translation>
    </message>
    <message>
        <source>Verdicts are about CUDA&apos;s caching allocator. This session has no trace of it: open a memory snapshot, or attach to a program on a CUDA device.</source>
        <translation>诊断针对 CUDA 的缓存分配器。本会话没有它的跟踪：请打开内存快照，或附加到 CUDA 设备上的程序。</translation>
    </message>
    <message>
        <source>Stack not recorded</source>
        <translation>未记录调用栈</translation>
    </message>
    <message>
        <source>Verdict</source>
        <translation>诊断</translation>
    </message>
    <message>
        <source>Severity</source>
        <translation>严重程度</translation>
    </message>
    <message>
        <source>Proof</source>
        <translation>证据</translation>
    </message>
    <message>
        <source>Value</source>
        <translation>值</translation>
    </message>
    <message>
        <source>Held by</source>
        <translation>持有者</translation>
    </message>
    <message>
        <source>Bytes</source>
        <translation>字节</translation>
    </message>
    <message>
        <source>Blocks</source>
        <translation>内存块</translation>
    </message>
    <message>
        <source>Show me</source>
        <translation>查看</translation>
    </message>
    <message>
        <source>Look at the memory of that moment in every view</source>
        <translation>在所有视图中查看该时刻的内存</translation>
    </message>
</context>
<context>
    <name>WelcomePage</name>
    <message>
        <source>See what a running PyTorch program really does.</source>
        <translation>看清正在运行的 PyTorch 程序究竟在做什么。</translation>
    </message>
    <message>
        <source>Recent files</source>
        <translation>最近文件</translation>
    </message>
    <message>
        <source>You can also drop a session file here. Any script: tensorscope run SCRIPT</source>
        <translation>也可将会话文件拖到这里。任意脚本：tensorscope run SCRIPT</translation>
    </message>
</context>
<context>
    <name>WindowCommands</name>
    <message>
        <source>Sessions, memory snapshots and traces (*.tscope *.pickle *.pkl *.json *.gz);;All files (*)</source>
        <translation>会话、内存快照和跟踪 (*.tscope *.pickle *.pkl *.json *.gz);;所有文件 (*)</translation>
    </message>
    <message>
        <source>Open a session</source>
        <translation>打开会话</translation>
    </message>
    <message>
        <source>Record the session to</source>
        <translation>将会话录制到</translation>
    </message>
    <message>
        <source>Export view</source>
        <translation>导出视图</translation>
    </message>
    <message>
        <source>Cannot write {path}: {reason}.</source>
        <translation>无法写入 {path}：{reason}。</translation>
    </message>
    <message>
        <source>Wrote {path}</source>
        <translation>已写入 {path}</translation>
    </message>
    <message>
        <source>Every event (*.csv *.csv.gz)</source>
        <translation>所有事件 (*.csv *.csv.gz)</translation>
    </message>
    <message>
        <source>Every block (*.csv *.csv.gz)</source>
        <translation>所有内存块 (*.csv *.csv.gz)</translation>
    </message>
    <message>
        <source>Perfetto trace (*.json *.json.gz)</source>
        <translation>Perfetto 跟踪 (*.json *.json.gz)</translation>
    </message>
    <message>
        <source>Export data</source>
        <translation>导出数据</translation>
    </message>
    <message>
        <source>Export report</source>
        <translation>导出报告</translation>
    </message>
    <message>
        <source>TensorScope {version} is free software under the MIT licence. It uses Qt for Python (PySide6) under the LGPL version 3, as a separate library that you may replace, pyqtgraph (MIT), numpy (BSD), psygnal (BSD) and platformdirs (MIT).</source>
        <translation>TensorScope {version} 是采用 MIT 许可的自由软件。它使用 LGPL 第 3 版许可的 Qt for Python (PySide6)（作为可由您替换的独立库），以及 pyqtgraph (MIT)、numpy (BSD)、psygnal (BSD) 和 platformdirs (MIT)。</translation>
    </message>
</context>
</TS>
